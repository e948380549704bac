// Two runs side by side: what grew, shrank, came and went, in a graph of both and in a table. Costs are
// reckoned as `sprof diff` does: those of the runs themselves (--per run), or of equal totals (--per sample).

// Both sides in the unit compared: of clocks their time, of other events what they count.
class Comparison {
    constructor(profile, base, absolute) {
        this.profile = profile;
        this.base = base;
        this.absolute = absolute;
        this.isClock = profile.isClock && base.isClock;
        const byWeight = this.isClock || profile.byWeight || base.byWeight;
        this.pick = costs => byWeight ? costs.weight : costs.samples;
        this.pickSelf = costs => byWeight ? costs.selfWeight : costs.selfSamples;
        const [now, before] = [this.pick(profile.costs)[0], this.pick(base.costs)[0]];
        this.scale = absolute || !before ? 1 : now / before;
        this.total = Math.max(1, before * this.scale || now);
        this.weights = [now / Math.max(1, profile.costs.samples[0]), this.scale * before / Math.max(1, base.costs.samples[0])];
    }

    now(id) { return this.pick(this.profile.costs)[id]; }
    before(id) { return this.pick(this.base.costs)[id] * this.scale; }

    text(value) {
        return this.absolute && this.isClock ? formatTime(value)
            : this.absolute ? formatCount(Math.round(value)) : formatPercent(value, this.total, 1000);
    }

    // Half of the 95 % interval of a change, of sampling alone.
    uncertainty(nowSamples, beforeSamples) {
        const variance = (n, all, weight) => (n + 0.5) * Math.max(0, 1 - n / (all + 1)) * weight * weight;
        return 1.96 * Math.sqrt(variance(nowSamples, this.profile.costs.samples[0], this.weights[0]) +
                                variance(beforeSamples, this.base.costs.samples[0], this.weights[1]));
    }
}

// The union of both sides: as wide as the larger of them, so that what is gone is seen, too.
class UnionEntry {
    constructor(comparison, id, up) {
        this.comparison = comparison;
        this.id = id;
        this.up = up;
        this.depth = up ? up.depth + 1 : 0;
        const {profile, base} = comparison;
        this.function = id ? profile.tree.function[id] : -1;
        this.now = comparison.now(id);
        this.before = comparison.before(id);
        this.samples = profile.costs.samples[id];
        this.beforeSamples = base.costs.samples[id];
        this.value = Math.max(this.now, this.before);
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree} = this.comparison.profile, kids = [];
        for (let child = tree.first[this.id]; child; child = tree.next[child]) {
            const entry = new UnionEntry(this.comparison, child, this);
            if (entry.value)
                kids.push(entry);
        }
        const sum = kids.reduce((total, kid) => total + kid.value, 0);
        const shrink = sum > this.value ? this.value / sum : 1;
        for (const kid of kids)
            kid.value *= shrink;
        return this.kids = kids.sort(byValue);
    }
}

const stateOf = ({now, before}) => before ? (now ? 'both' : 'gone') : 'new';

function changeColor(palette, row) {
    return palette.change((row.now - row.before) / Math.max(1, row.now, row.before), stateOf(row));
}

const signed = (value, text) => (value >= 0 ? '+' : '−') + text;

class CompareView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame'});
        this.tableLine = element('div', {class: 'bar-line'});
        host.append(this.line, place, this.tableLine);
        this.graph = new FlameGraph(place, app.palette, {
            zoomed: () => {}, openFunction: fn => app.openFunction(fn), said: text => app.say(text)});
        const name = row => this.modules ? app.data.modules[row.id].name : app.profile.nameOf(row.id);
        const value = (key, title, pick) => ({key, title, number: true, width: '96px', value: pick, faint: row => !pick(row),
            text: row => this.comparison.text(pick(row))});
        this.table = new Table(host, [
            {key: 'name', title: 'name', class: 'name', width: 'minmax(22ch, 1fr)', value: name, text: name, tip: name},
            {key: 'change', title: 'change', number: true, width: '104px', sorted: true, faint: row => Math.abs(row.change) <= row.interval,
                help: 'of all of the cost before; grey: no more than sampling by itself explains',
                value: row => Math.abs(row.change), text: row => element('span', {},
                    element('i', {class: 'swatch', style: `background:${changeColor(app.palette, row)}`}),
                    signed(row.change, (100 * Math.abs(row.change) / this.comparison.total).toFixed(2) + ' %'))},
            {title: '±', number: true, width: '58px', help: 'half of the 95 % interval, of sampling alone', class: 'faint',
                text: row => (100 * row.interval / this.comparison.total).toFixed(2)},
            {key: 'own', title: 'of its own', number: true, width: '92px', help: 'against what it was itself',
                value: row => row.before ? row.now / row.before : Infinity,
                text: row => stateOf(row) === 'both' ? signed(row.change, (100 * Math.abs(row.change) / row.before).toFixed(1) + ' %') : stateOf(row)},
            value('before', 'before', row => row.before), value('now', 'now', row => row.now),
            {title: 'module', width: 'minmax(8rem, 16rem)', text: row => this.modules ? '' : moduleName(app, row.id)},
        ], {opened: row => this.modules ? app.set({tab: 'functions', module: row.id}) : app.openFunction(row.id)});
    }

    draw(app) {
        const {profile, base, state, palette, data} = app;
        const comparison = this.comparison = new Comparison(profile, base, state.absolute);
        const swatch = (color, text) => element('span', {}, element('i', {style: `background:${color}`}), text);
        const label = event => data.runs[data.events[event].run].label;
        this.line.replaceChildren(
            element('b', {}, `${label(state.base)} → ${label(state.event)}`),
            segments([[true, 'Absolute'], [false, 'Proportional']], state.absolute,
                absolute => app.set({absolute})),
            element('span', {class: 'muted'}, state.absolute ? 'the costs themselves, as sprof diff --per run'
                : 'both scaled to the same total, as sprof diff --per sample'),
            element('span', {class: 'legend'}, swatch(palette.change(1), 'more'), swatch(palette.change(-1), 'less'),
                swatch(palette.change(0, 'new'), 'new'), swatch(palette.change(0, 'gone'), 'gone')));
        const key = app.profileKey + state.absolute;
        if (this.key !== key) {
            this.key = key;
            this.root = new UnionEntry(comparison, 0, null);
            this.graph.zoomPath = [];
        }
        this.graph.show(this.root, profile, {
            match: app.match && !app.match.error ? app.match : null,
            colorOf: entry => changeColor(palette, entry),
            describe: (of, entry) => [
                element('b', {}, entry.function < 0 ? 'everything' : of.nameOf(entry.function)),
                element('span', {}, `${comparison.text(entry.before)} → ${comparison.text(entry.now)}`),
                element('span', {}, `${formatCount(entry.beforeSamples)} → ${formatCount(entry.samples)} samples`)],
        });
        this.drawTable(app);
    }

    drawTable(app) {
        const choose = change => {
            Object.assign(this, change);
            this.drawTable(app);
        };
        this.tableLine.replaceChildren(
            segments([[false, 'Functions'], [true, 'Modules']], Boolean(this.modules), modules => choose({modules})),
            segments([[false, 'Exclusive'], [true, 'Inclusive']], Boolean(this.inclusive), inclusive => choose({inclusive})),
            element('span', {class: 'muted'}, 'One run a side: ± is of sampling alone. What differs from run to run, ' +
                'sprof diff says from three runs a side on.'));
        this.table.show(this.rows(app));
    }

    rows(app) {
        const {profile, base} = app, {comparison} = this, rows = [];
        const sums = costs => {
            const own = this.modules ? costs.modules() : costs.functions();
            return [this.inclusive ? comparison.pick(own) : comparison.pickSelf(own), this.inclusive ? own.samples : own.selfSamples];
        };
        const [now, nowSamples] = sums(profile), [before, beforeSamples] = sums(base);
        for (let id = 0; id < now.length; id++)
            rows.push({id, now: now[id], before: before[id] * comparison.scale,
                       samples: nowSamples[id], beforeSamples: beforeSamples[id]});
        const hit = !this.modules && app.match && !app.match.error ? app.match.hit : null;
        return rows.filter(row => (row.now || row.before) && (!hit || hit[row.id])).map(row => ({...row,
            change: row.now - row.before, interval: comparison.uncertainty(row.samples, row.beforeSamples)}));
    }
}

const VIEWS = [
    ['summary', 'Summary', (app, host) => new SummaryView(app, host)],
    ['compare', 'Comparison', (app, host) => new CompareView(app, host), app => app.comparing],
    ['flame', 'Flame graph', (app, host) => new FlameView(app, host)],
    ['tree', 'Call tree', (app, host) => new TreeView(app, host)],
    ['functions', 'Functions', (app, host) => new FunctionsView(app, host)],
    ['modules', 'Modules', (app, host) => new ModulesView(app, host)],
    ['callers', 'Callers & callees', (app, host) => new CallersView(app, host)],
    ['source', 'Source', (app, host) => new SourceView(app, host), app => app.data.sources.length > 0],
    ['heat', 'Heat map', (app, host) => new HeatView(app, host)],
];
