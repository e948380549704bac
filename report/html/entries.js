// Trees that grow when they are looked at. An entry of a lazy tree is a function, its value, and children
// made on demand, largest first.

// Top-down: one or more nodes of the profile's tree, merged.
class DownEntry {
    constructor(profile, nodes, up) {
        this.profile = profile;
        this.nodes = nodes;
        this.up = up;
        this.function = nodes.length ? profile.tree.function[nodes[0]] : -1;
        this.depth = up ? up.depth + 1 : 0;
        this.samples = this.weight = this.selfSamples = this.selfWeight = 0;
        for (const id of nodes) {
            this.samples += profile.costs.samples[id];
            this.weight += profile.costs.weight[id];
            this.selfSamples += profile.costs.selfSamples[id];
            this.selfWeight += profile.costs.selfWeight[id];
        }
        this.value = profile.byWeight ? this.weight : this.samples;
        this.self = profile.byWeight ? this.selfWeight : this.selfSamples;
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree, costs} = this.profile;
        // The children of one node are of different functions; those of several must be merged.
        const groups = this.nodes.length === 1 ? null : new Map(), lists = [];
        for (const id of this.nodes)
            for (let child = tree.first[id]; child; child = tree.next[child]) {
                if (!costs.samples[child] && !costs.weight[child])
                    continue;
                const group = groups?.get(tree.function[child]);
                if (group) {
                    group.push(child);
                    continue;
                }
                const list = [child];
                groups?.set(tree.function[child], list);
                lists.push(list);
            }
        this.kids = lists.map(nodes => new DownEntry(this.profile, nodes, this));
        this.kids.sort(byValue);
        return this.kids;
    }
}

// Bottom-up: a function and, one step further out, its callers. `reached` holds nodes of the function, and
// `origins`, side by side with it, the nodes whose costs were carried there; its part of both begins at
// `from` and ends before `to`. `own` are the costs that are carried.
class UpEntry {
    constructor(profile, fn, up, own, carried) {
        this.profile = profile;
        this.function = fn;
        this.up = up;
        this.depth = up ? up.depth + 1 : 0;
        this.own = own;
        this.carried = carried;
        this.samples = carried.samples;
        this.weight = carried.weight;
        this.value = profile.byWeight ? this.weight : this.samples;
        this.selfSamples = carried.selfSamples || 0;
        this.selfWeight = carried.selfWeight || 0;
        this.self = profile.byWeight ? this.selfWeight : this.selfSamples;
    }

    children() {
        if (!this.kids) {
            const {reached, origins, from, to} = this.carried;
            this.carried = null;
            this.kids = callerEntries(this, this.own, reached, origins, from, to);
        }
        return this.kids;
    }
}

// A function with all of its own cost: where that arose is looked up when its callers are asked for.
class LeafEntry {
    constructor(profile, fn, up, costs) {
        this.profile = profile;
        this.function = fn;
        this.up = up;
        this.depth = 1;
        this.samples = this.selfSamples = costs.selfSamples[fn];
        this.weight = this.selfWeight = costs.selfWeight[fn];
        this.value = this.self = profile.byWeight ? this.weight : this.samples;
    }

    children() {
        if (!this.kids) {
            const {tree, costs} = this.profile, own = {samples: costs.selfSamples, weight: costs.selfWeight};
            const nodes = tree.nodesOf(this.function).filter(id => own.samples[id] || own.weight[id]);
            this.kids = callerEntries(this, own, nodes, nodes, 0, nodes.length);
        }
        return this.kids;
    }
}

// The entries of the functions that call the nodes reached, largest first. The nodes are counted by their
// parents' functions, then put side by side. Where a function stands among those met is kept in an array
// of the profile's tree, which is zero between uses.
function callerEntries(up, own, reached, origins, from, to) {
    const {profile} = up, {parent, function: fns} = profile.tree;
    const places = profile.tree.groupPlaces ||= new Uint32Array(profile.data.functions.count);
    const groups = [];
    let above = 0;
    for (let i = from; i < to; i++) {
        const node = parent[reached[i]];
        if (!node)
            continue;
        const fn = fns[node];
        const group = places[fn] ? groups[places[fn] - 1]
            : groups[(places[fn] = groups.length + 1) - 1] = {fn, from: 0, to: 0, samples: 0, weight: 0, selfSamples: 0, selfWeight: 0};
        group.to++;
        if (own.selfSamples) {
            group.selfSamples += own.selfSamples[origins[i]];
            group.selfWeight += own.selfWeight[origins[i]];
        }
        group.samples += own.samples[origins[i]];
        group.weight += own.weight[origins[i]];
        above++;
    }
    const nodes = new Uint32Array(above), carriers = new Uint32Array(above);
    let next = 0;
    for (const group of groups) {
        next += group.to;
        group.from = group.to = next - group.to;
        group.reached = nodes;
        group.origins = carriers;
    }
    for (let i = from; i < to; i++) {
        const node = parent[reached[i]];
        if (!node)
            continue;
        const at = groups[places[fns[node]] - 1].to++;
        nodes[at] = node;
        carriers[at] = origins[i];
    }
    const entries = groups.map(group => new UpEntry(profile, group.fn, up, own, group));
    for (const group of groups)
        places[group.fn] = 0;
    return entries.sort(byValue);
}

const byValue = (a, b) => b.value - a.value || a.function - b.function;

// The whole profile, callers above callees.
function topDown(profile) {
    return profile.topDownRoot ||= new DownEntry(profile, [0], null);
}

// The whole profile, functions by exclusive cost and their callers below.
function bottomUp(profile) {
    if (profile.bottomUpRoot)
        return profile.bottomUpRoot;
    const own = profile.functions(), kids = [], {samples, weight} = profile.costs;
    const root = new UpEntry(profile, -1, null, null, {samples: samples[0], weight: weight[0]});
    for (let fn = 0; fn < own.samples.length; fn++)
        if (own.selfSamples[fn] || own.selfWeight[fn])
            kids.push(new LeafEntry(profile, fn, root, own));
    root.kids = kids.sort(byValue);
    return profile.bottomUpRoot = root;
}

function outermostNodes(profile, fn) {
    const {tree, costs} = profile;
    return tree.nodesOf(fn).filter(id => tree.outermost[id] && (costs.samples[id] || costs.weight[id]));
}

// The callees and callers of a function, from its outermost occurrences on.
function calleesOf(profile, fn) {
    const entry = new DownEntry(profile, outermostNodes(profile, fn), null);
    entry.function = fn;
    return entry;
}

function callersOf(profile, fn) {
    const nodes = outermostNodes(profile, fn), {samples, weight} = profile.costs;
    const own = {samples, weight, ...ownBelow(profile, fn)}, sum = costs => nodes.reduce((all, id) => all + costs[id], 0);
    return new UpEntry(profile, fn, null, own, {
        reached: nodes, origins: nodes, from: 0, to: nodes.length,
        samples: sum(samples), weight: sum(weight),
        selfSamples: sum(own.selfSamples), selfWeight: sum(own.selfWeight),
    });
}

// What a function costs itself, by the outermost occurrence at or above the node where that arose.
function ownBelow(profile, fn) {
    const {tree, costs} = profile, count = costs.selfSamples.length;
    const selfSamples = new Float64Array(count), selfWeight = new Float64Array(count);
    for (const id of tree.nodesOf(fn)) {
        let at = id;
        while (at && !(tree.function[at] === fn && tree.outermost[at]))
            at = tree.parent[at];
        selfSamples[at] += costs.selfSamples[id];
        selfWeight[at] += costs.selfWeight[id];
    }
    return {selfSamples, selfWeight};
}
