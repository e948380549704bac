// What functions and modules cost under a selection read in a mode. The rules are those of `sprof report`.

// Exclusive and inclusive costs of a tree's nodes, [0] being the total.
function treeCosts(view, costs) {
    const n = view.tree.count + 1, {sink, recorded} = view, {parent} = view.tree;
    const sumUp = values => {
        const self = recorded ? values.slice() : new Float64Array(n);
        for (let id = 1; id < values.length && !recorded; id++)
            self[sink[id]] += values[id];
        const all = self.slice();
        for (let id = n - 1; id > 0; id--)
            all[parent[id]] += all[id];
        return [self, all];
    };
    const [selfSamples, samples] = sumUp(costs.samples), [selfWeight, weight] = sumUp(costs.weight);
    return {selfSamples, selfWeight, samples, weight};
}

const noCosts = n => ({
    selfSamples: new Float64Array(n), selfWeight: new Float64Array(n),
    samples: new Float64Array(n), weight: new Float64Array(n),
});

// Costs per function or module: exclusive of all nodes, inclusive of the outermost ones.
function groupCosts(tree, costs, groups, outermost, count) {
    const {selfSamples, selfWeight, samples, weight} = noCosts(count), fns = tree.function;
    for (let id = 1; id <= tree.count; id++) {
        const group = groups ? groups[fns[id]] : fns[id];
        selfSamples[group] += costs.selfSamples[id];
        selfWeight[group] += costs.selfWeight[id];
        if (outermost[id]) {
            samples[group] += costs.samples[id];
            weight[group] += costs.weight[id];
        }
    }
    return {selfSamples, selfWeight, samples, weight};
}

// What one look at the data shows: a selection read in a mode.
class Profile {
    constructor(data, view, selection, selected = new SelectedCosts(data)) {
        this.data = data;
        this.view = view;
        this.tree = view.tree;
        this.costs = treeCosts(view, selected.choose(selection));
        const event = data.events[selection.event];
        this.event = selection.event;
        this.selection = {...selection};
        this.isClock = event.clock;
        this.unit = event.calls ? 'calls' : 'samples';
        this.byWeight = event.varying;
        this.value = this.byWeight ? this.costs.weight : this.costs.samples;
        this.selfValue = this.byWeight ? this.costs.selfWeight : this.costs.selfSamples;
        this.total = this.value[0];
        // Of calls whose paths were not measured only functions have total times, and those of the whole run.
        const calls = data.callTotals.get(selection.event);
        this.hasPaths = !calls || calls.paths;
        this.figures = calls && !selection.slots && !(selection.thread >= 0) && !(selection.process >= 0) ? calls.figures : null;
        this.callTotals = calls && calls.totals.length && !selection.slots && !(selection.thread >= 0) &&
            !(selection.process >= 0) ? calls : null;
    }

    // What percentages are of. Of all CPU time, which stands above it, no second number is given.
    base(narrowed) {
        const event = this.data.events[this.event];
        if (this.isClock && this.byWeight && event.base === 'of CPU time' && !narrowed)
            return '% of all CPU time';
        if (!this.byWeight)
            return `% of ${formatCount(this.total)} sample${this.total === 1 ? '' : 's'}`;
        return this.isClock ? `% of ${formatTime(this.total)} ${event.base}` : `% of ${formatCount(this.total)} ${event.name}`;
    }

    // In a comparison functions without a name of several builds are one.
    unnamed(fn) { return this.view.same && this.data.unnamedIn.get(fn); }
    nameOf(fn) { return this.unnamed(fn) || this.data.functions.names[fn]; }
    shownOf(fn) { return this.unnamed(fn) || this.data.functions.shown[fn]; }
    lastOf(fn) { return this.unnamed(fn) ? 0 : this.data.functions.last[fn]; }

    pick(costs) { return this.byWeight ? costs.weight : costs.samples; }
    pickSelf(costs) { return this.byWeight ? costs.selfWeight : costs.selfSamples; }

    functions() {
        return this.functionCosts ||= this.withTotals(groupCosts(this.tree, this.costs, null, this.tree.outermost,
            this.data.functions.count), this.callTotals);
    }

    modules() {
        return this.moduleCosts ||= this.withTotals(groupCosts(this.tree, this.costs, moduleNumbers(this.data, this.view.same),
            this.tree.outermostOfModule, this.data.modules.length), null);
    }

    // What is not known of calls without paths is zero.
    withTotals(costs, calls) {
        if (this.hasPaths)
            return costs;
        costs.samples.fill(0);
        costs.weight.fill(0);
        for (let i = 0; calls && i < calls.totals.length; i++) {
            const fn = calls.first + i;
            costs.weight[fn] = calls.totals[i];
            costs.samples[fn] = costs.selfSamples[fn];
        }
        return costs;
    }

    // The half width of the 95 % Wilson interval of a share, in percent.
    uncertainty(part) {
        const samples = this.byWeight && this.costs.samples[0]
            ? this.costs.samples[0] : this.total;
        if (!samples || !this.total)
            return 0;
        const z = 1.959963984540054, p = part / this.total, d = 1 + z * z / samples;
        return 100 * z / d * Math.sqrt(p * (1 - p) / samples + z * z / (4 * samples * samples));
    }
}
