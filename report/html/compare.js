// Two runs side by side: what grew, shrank, came and went, in a graph of both and in a table. Costs are
// reckoned as `sprof diff` does: those of the runs themselves (--per run), or of equal totals (--per sample).

// Of several recordings all runs of the first and of the last are compared: each side's are an event of their own.
function addSides(data) {
    for (const key of ['firstBase', 'firstEvent']) {
        const first = data.events[data[key]], {part} = data.runs[first?.run] || {};
        const parts = [...data.events.keys()].filter(index => !data.events[index].parts && data.events[index].name === first?.name &&
            data.runs[data.events[index].run].part === part);
        if (data.firstBase === undefined || parts.length < 2)
            continue;
        data.events.push({...first, parts, runs: parts.length, name: `${first.name}, all ${parts.length} runs`});
        data[key] = data.events.length - 1;
    }
}

// The label of a run, of its file the name alone where that is enough to tell recordings apart.
function shortLabel({runs}, label) {
    const last = text => text.replace(/^.*\//s, ''), labels = new Set(runs.map(run => run.label));
    return new Set([...labels].map(last)).size === labels.size ? last(label) : label;
}

// What a side is called: a run, or a recording with all of its runs.
function sideName(data, index) {
    const {run, runs} = data.events[index], label = shortLabel(data, data.runs[run].label);
    return runs ? `${label.replace(/, run \d+$/, '')}, ${runs} runs` : label;
}

// Verdicts need to see how the runs of each side differ.
const isJudged = data => [data.firstEvent, data.firstBase].every(index => data.events[index]?.runs >= 3);

// The program's own numbers: of a run, or of a side with all of its runs.
function cardsOf(app) {
    const {runs, parts} = app.event();
    if (!runs)
        return app.run().cards;
    const sum = key => parts.reduce((total, part) => total + app.data.runs[app.data.events[part].run][key], 0);
    const cpu = sum('cpuNs'), wall = sum('durationNs');
    return [...wall ? [{value: formatTime(cpu), title: 'CPU time', note: `${Math.round(100 * cpu / wall)} % of ${formatTime(wall)} of wall time`}] : [],
        {value: String(runs), title: 'runs', note: ''}, {value: formatCount(sum('samples')), title: app.unit(), note: ''}];
}

// What sprof diff says of each function of the first and the last recording, by its name and module.
function verdictsOf(app) {
    const {state, data} = app, chosen = ['process', 'thread'].some(key => state[key] >= 0) || state.slots || app.transformKey;
    if (chosen || state.event !== data.firstEvent || state.base !== data.firstBase || state.mode !== recordedMode(app.run()))
        return null;
    data.verdicts ||= new Map();
    return key => {
        if (!data.verdicts.has(key))
            data.verdicts.set(key, new Map(JSON.parse(data.differences[key] || '{"rows": []}').rows.map(row => [`${row.function}\0${row.module}`, row])));
        return data.verdicts.get(key);
    };
}

// Both sides in the unit compared: of clocks their time, of other events what they count.
class Comparison {
    constructor(profile, base, absolute) {
        this.profile = profile;
        this.base = base;
        this.absolute = absolute;
        this.isClock = profile.isClock && base.isClock;
        const byWeight = this.byWeight = this.isClock || profile.byWeight || base.byWeight;
        this.pick = costs => byWeight ? costs.weight : costs.samples;
        this.pickSelf = costs => byWeight ? costs.selfWeight : costs.selfSamples;
        const [now, before] = [this.pick(profile.costs)[0], this.pick(base.costs)[0]];
        [this.runs, this.beforeRuns] = [profile, base].map(side => side.data.events[side.event].runs || 1);
        this.scale = absolute || !before ? this.runs / this.beforeRuns : now / before;
        this.total = Math.max(1, before * this.scale || now);
        this.weights = [now / Math.max(1, profile.costs.samples[0]), this.scale * before / Math.max(1, base.costs.samples[0])];
    }

    valueOf(entry) { return this.byWeight ? entry.weight : entry.samples; }
    selfOf(entry) { return this.byWeight ? entry.selfWeight : entry.selfSamples; }

    // Both sides of the tree, of the inverted tree, and of what a function calls and is called by.
    topDown() { return this.down ||= PairEntry.root(this, topDown(this.profile), topDown(this.base)); }
    bottomUp() { return this.up ||= PairEntry.root(this, bottomUp(this.profile), bottomUp(this.base)); }
    callees(fn) { return PairEntry.root(this, calleesOf(this.profile, fn), calleesOf(this.base, fn)); }
    callers(fn) { return PairEntry.root(this, callersOf(this.profile, fn), callersOf(this.base, fn)); }

    text(value) {
        return this.absolute && this.isClock ? formatTime(value / this.runs)
            : this.absolute ? formatCount(Math.round(value / this.runs)) : formatPercent(value, this.total, 1000);
    }

    // Half of the 95 % interval of a change, of sampling alone.
    uncertainty(nowSamples, beforeSamples) {
        const variance = (n, all, weight) => (n + 0.5) * Math.max(0, 1 - n / (all + 1)) * weight * weight;
        return 1.96 * Math.sqrt(variance(nowSamples, this.profile.costs.samples[0], this.weights[0]) +
                                variance(beforeSamples, this.base.costs.samples[0], this.weights[1]));
    }
}

// An entry of both sides, as wide as the larger of them, so that what is gone is seen, too.
class PairEntry {
    constructor(comparison, now, before, up) {
        this.comparison = comparison;
        this.sides = [now, before];
        this.up = up;
        this.depth = up ? up.depth + 1 : 0;
        this.function = (now || before).function;
        this.samples = now ? now.samples : 0;
        this.beforeSamples = before ? before.samples : 0;
        this.now = now ? comparison.valueOf(now) : 0;
        this.before = before ? comparison.valueOf(before) * comparison.scale : 0;
        this.nowSelf = now ? comparison.selfOf(now) : 0;
        this.beforeSelf = before ? comparison.selfOf(before) * comparison.scale : 0;
        this.change = this.now - this.before;
        this.interval = comparison.uncertainty(this.samples, this.beforeSamples);
        this.value = Math.max(this.now, this.before);
    }

    static root(comparison, now, before) {
        return new PairEntry(comparison, now, before, null);
    }

    children() {
        if (this.kids)
            return this.kids;
        const [now, before] = this.sides.map(side => side ? side.children() : []);
        const gone = new Map(before.map(entry => [entry.function, entry]));
        const pair = (one, other) => new PairEntry(this.comparison, one, other, this);
        const kids = now.map(entry => {
            const other = gone.get(entry.function);
            gone.delete(entry.function);
            return pair(entry, other || null);
        });
        for (const entry of gone.values())
            kids.push(pair(null, entry));
        const sum = kids.reduce((total, kid) => total + kid.value, 0);
        const shrink = sum > this.value && this.value ? this.value / sum : 1;
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

// Columns of what changed: of rows with {now, before, change, interval}.
function changeColumns(app, of = row => row, verdict = false) {
    const all = value => (100 * value / app.comparison.total).toFixed(2);
    const cost = (key, title, rank) => ({key, title, rank, number: true, width: '92px', value: row => of(row)[key],
        faint: row => !of(row)[key], text: row => app.comparison.text(of(row)[key])});
    return [
        {key: 'change', title: 'change', number: true, width: '116px', sorted: true, faint: row => Math.abs(of(row).change) <= of(row).interval,
            help: 'of all of the cost before; grey: no more than sampling by itself explains',
            value: row => Math.abs(of(row).change), text: row => element('span', {},
                element('i', {class: 'swatch', style: `background:${changeColor(app.palette, of(row))}`}),
                signed(of(row).change, all(Math.abs(of(row).change)) + ' %'))},
        {title: '±', rank: 2, number: true, width: '58px', help: 'half of the 95 % interval, of sampling alone', class: 'faint',
            text: row => all(of(row).interval)},
        ...(verdict ? [{key: 'verdict', title: 'verdict', rank: 1, width: '120px', help: 'beyond what runs differ by, of sprof diff',
            value: row => row.verdict || '', text: row => element('span', {class: {grown: 'new', new: 'new', shrunk: 'gone', gone: 'gone'}[row.verdict] || 'muted'},
                row.verdict || '')}] : []),
        {key: 'own', title: 'own change', rank: 1, number: true, width: '106px', help: 'against what it was itself',
            value: row => of(row).before ? of(row).now / of(row).before : Infinity,
            text: row => verdict && row.verdict === stateOf(of(row)) ? '' : stateOf(of(row)) === 'both'
                ? signed(of(row).change, (100 * Math.abs(of(row).change) / of(row).before).toFixed(1) + ' %')
                : element('b', {class: stateOf(of(row))}, stateOf(of(row)))},
        cost('before', 'before', 1), cost('now', 'now'),
    ];
}

// A tree whose entries are of both sides.
class PairTree extends TreeTable {
    constructor(host, app, title, width) {
        super(host, [
            {title, class: 'name', width, text: row => functionName(app, row.entry.function, lookAlikes(app).alike, lookAlikes(app).places),
                tip: row => `${app.profile.nameOf(row.entry.function)} · ${moduleName(app, row.entry.function)}`},
            ...changeColumns(app, row => row.entry).map(column => ({...column, key: undefined})),
            {title: 'self', rank: 4, number: true, width: '92px', help: 'the change of its self cost, of all of the cost before',
                faint: row => row.entry.nowSelf === row.entry.beforeSelf,
                text: row => signed(row.entry.nowSelf - row.entry.beforeSelf,
                    (100 * Math.abs(row.entry.nowSelf - row.entry.beforeSelf) / app.comparison.total).toFixed(2) + ' %')},
        ], {openFunction: fn => app.openFunction(fn), menu: (event, row) => app.menuOf.open(event, row.entry.function)});
    }
}

const perSegments = app => segments([[true, 'Absolute'], [false, 'Proportional']], app.state.absolute,
    absolute => app.set({absolute}));

class CompareView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame'});
        this.tableLine = element('div', {class: 'bar-line'});
        host.append(this.line, place, this.tableLine);
        this.graph = new FlameGraph(place, app.palette, {
            zoomed: () => {}, openFunction: fn => app.openFunction(fn), said: text => app.say(text),
            menu: (event, entry) => app.menuOf.open(event, entry.function, pathOf(entry))});
        const name = row => this.modules ? app.data.modules[row.id].name : app.profile.shownOf(row.id);
        const full = row => this.modules ? app.data.modules[row.id].path : app.profile.nameOf(row.id);
        this.table = new Table(host, [
            {key: 'name', title: 'name', class: 'name', width: 'minmax(30ch, 1fr)', value: name,
                text: row => this.modules ? name(row)
                    : functionName(app, row.id, this.table.lacksModules ? lookAlikes(app).alike : null, lookAlikes(app).places), tip: full},
            ...changeColumns(app, row => row, Boolean(Object.keys(app.data.differences).length) && isJudged(app.data)),
            {title: 'module', rank: 3, width: 'minmax(8rem, 16rem)', text: row => this.modules ? '' : moduleName(app, row.id)},
        ], {menu: (event, row) => this.modules || app.menuOf.open(event, row.id),
            opened: row => this.modules ? app.set({tab: 'functions', module: row.id}) : app.openFunction(row.id)});
    }

    draw(app) {
        const {profile, state, palette, data, comparison} = app;
        const swatch = (color, text) => element('span', {}, element('i', {style: `background:${color}`}), text);
        this.line.replaceChildren(...[
            element('b', {}, `${sideName(data, state.base)} → ${sideName(data, state.event)}`),
            perSegments(app),
            element('span', {class: 'muted'}, state.absolute ? 'the costs themselves' : 'both scaled to the same total'),
            element('code', {class: 'muted command-line', title: 'the same in a terminal'}, commandOf(app)),
            app.narrowed() ? element('span', {class: 'warning'}, 'Only the later run is narrowed to a time or a thread.') : null,
            this.renameHint(app),
            element('span', {class: 'legend'}, swatch(palette.change(1), 'more'), swatch(palette.change(-1), 'less'),
                swatch(palette.change(0, 'new'), 'new'), swatch(palette.change(0, 'gone'), 'gone')),
        ].filter(Boolean));
        if (this.root !== comparison.topDown()) {
            this.root = comparison.topDown();
            this.graph.zoomPath = [];
        }
        this.graph.show(this.root, profile, {
            match: app.match,
            colorOf: entry => changeColor(palette, entry),
            describe: (of, entry) => [
                element('b', {}, entry.function < 0 ? 'everything' : of.nameOf(entry.function)),
                element('span', {}, `${comparison.text(entry.before)} → ${comparison.text(entry.now)}`),
                element('span', {}, `${formatCount(entry.beforeSamples)} → ${formatCount(entry.samples)} samples`)],
        });
        this.drawTable(app);
    }

    // A program that has another name in each recording shares nothing with itself.
    renameHint({profile, base, data}) {
        const [now, before] = [profile, base].map(side => side.pickSelf(side.modules()));
        const largest = (own, other) => [...own.keys()].filter(id => data.modules[id].kind === 'app' && !other[id])
            .reduce((most, id) => own[id] > (own[most] || 0) ? id : most, -1);
        const [gone, come] = [largest(before, now), largest(now, before)];
        if (gone < 0 || come < 0 || before[gone] < 0.1 * base.total || now[come] < 0.1 * profile.total)
            return null;
        const map = `${data.modules[gone].name}=${data.modules[come].name}`;
        return element('span', {class: 'warning'}, `${data.modules[gone].name} is only in the first recording, ${data.modules[come].name} only in the last: ` +
            `if they are one program, sprof html --map ${quoted(map)} compares them`);
    }

    drawTable(app) {
        const choose = change => {
            Object.assign(this, change);
            this.drawTable(app);
        };
        this.tableLine.replaceChildren(
            segments([[false, 'Functions'], [true, 'Modules']], Boolean(this.modules), modules => choose({modules})),
            segments([[false, 'Self'], [true, 'Total']], Boolean(this.inclusive), inclusive => choose({inclusive})),
            element('span', {class: 'muted'}, this.verdicts(app)?.size && isJudged(app.data) ? `± and verdicts are of how runs differ, as sprof diff --per ${app.state.absolute ? 'run' : 'sample'} says`
                : '± is of sampling alone: what differs from run to run is known of all runs of two recordings, from three a side on'));
        this.table.show(this.rows(app));
    }

    judged(app, verdicts, {id}) {
        const row = verdicts?.get(`${app.profile.nameOf(id)}\0${renamedModule(app.data, moduleName(app, id))}`);
        return row && {verdict: row.verdict, interval: (row.change_interval || 0) * app.comparison.total / 100};
    }

    verdicts(app) {
        return this.modules ? null : verdictsOf(app)?.(`${app.state.absolute ? 'run' : 'sample'} ${this.inclusive ? 'total' : 'self'}`);
    }

    rows(app) {
        const {profile, base, comparison} = app, rows = [];
        const sums = costs => {
            const own = this.modules ? costs.modules() : costs.functions();
            return [this.inclusive ? comparison.pick(own) : comparison.pickSelf(own), this.inclusive ? own.samples : own.selfSamples];
        };
        const [now, nowSamples] = sums(profile), [before, beforeSamples] = sums(base);
        for (let id = 0; id < now.length; id++)
            rows.push({id, now: now[id], before: before[id] * comparison.scale,
                       samples: nowSamples[id], beforeSamples: beforeSamples[id]});
        const hit = this.modules ? null : app.match?.hit, verdicts = this.verdicts(app);
        return rows.filter(row => (row.now || row.before) && (!hit || hit[row.id])).map(row => ({...row,
            change: row.now - row.before, ...this.judged(app, verdicts, row) || {interval: comparison.uncertainty(row.samples, row.beforeSamples)}}));
    }
}
