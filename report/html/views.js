// The views behind the tabs. Each is made with (app, host) and has draw(app).

// ---- Summary ------------------------------------------------------------------------------------

class SummaryView {
    constructor(app, host) {
        this.scroll = element('div', {class: 'scroll'});
        host.append(this.scroll);
    }

    draw(app) {
        const {profile, data} = app, run = app.run(), samples = profile.costs.samples[0];
        const cards = run.cards.map(card => element('div', {class: 'card' + (card.warn ? ' warn' : '')},
            element('div', {class: 'big'}, card.value), element('div', {}, card.title),
            element('div', {class: 'small'}, card.note)));
        const top = (costs, count, nameOf, tipOf, pick, open, keep = () => true) => {
            const order = [...Array(count).keys()].filter(i => pick(costs)[i] && keep(i))
                .sort((a, b) => pick(costs)[b] - pick(costs)[a] || a - b).slice(0, 12);
            return element('table', {class: 'list'}, ...order.map(i => element('tr', {},
                element('td', {class: 'number bar', style: `--share:${(100 * pick(costs)[i] / (profile.total || 1)).toFixed(1)}%`},
                    formatPercent(pick(costs)[i], profile.total, samples)),
                element('td', {class: 'name'}, element('button', {title: tipOf(i), onclick: () => open(i)}, nameOf(i))))));
        };
        const {names, flags} = data.functions, name = fn => functionName(app, fn);
        const facts = element('table', {class: 'list facts-table'}, ...run.facts.map(([name, value]) =>
            element('tr', {}, element('td', {}, name), element('td', {}, value))));
        this.scroll.replaceChildren(element('div', {class: 'cards'}, ...cards),
            ...(data.pruned ? [element('p', {class: 'note muted'}, data.pruned)] : []),
            ...(profile.total ? [element('p', {class: 'note muted base'}, profile.base())] : []),
            element('div', {class: 'columns'},
                element('div', {}, element('h3', {}, 'Where the time goes: functions, exclusive'),
                    top(profile.functions(), data.functions.count, name, i => names[i], c => profile.pickSelf(c),
                        fn => app.openFunction(fn)),
                    ...(profile.hasPaths || profile.callTotals ? [
                        element('h3', {}, 'What it is spent for: functions, inclusive'),
                        top(profile.functions(), data.functions.count, name, i => names[i], c => profile.pick(c),
                            fn => app.openFunction(fn), fn => !(flags[fn] & FLAG_STARTUP))] : [])),
                element('div', {}, element('h3', {}, 'Modules, exclusive'),
                    top(profile.modules(), data.modules.length, i => data.modules[i].name, i => data.modules[i].path,
                        c => profile.pickSelf(c), module => app.set({tab: 'functions', module})),
                    element('h3', {}, 'This run'), facts)));
    }
}

// ---- Flame graph --------------------------------------------------------------------------------

function segments(values, current, choose) {
    return element('span', {class: 'segments', role: 'group'}, ...values.map(([value, title]) =>
        element('button', {'aria-pressed': String(value === current), onclick: () => choose(value)}, title)));
}

class FlameView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame'});
        host.append(this.line, place);
        this.graph = new FlameGraph(place, app.palette, {
            zoomed: zoom => { app.state.zoom = zoom; app.save(); },
            openFunction: fn => app.openFunction(fn),
            said: text => app.say(text),
        });
    }

    draw(app) {
        const {state, profile, palette} = app;
        this.line.replaceChildren(
            segments([[false, 'Top-down'], [true, 'Bottom-up']], state.inverted,
                inverted => app.set({inverted, zoom: []})),
            segments([[false, 'Icicle'], [true, 'Flame graph']], state.flame, flame => app.set({flame})),
            element('button', {class: 'icon', title: 'Zoom out (Esc)', onclick: () => this.graph.reset()}, '⤢'),
            element('span', {class: 'muted'}, state.inverted
                ? 'functions by their own cost, callers further in' : 'width is cost, order is size'),
            element('span', {class: 'legend'}, ...[['app', 'application'], ['system', 'system libraries'],
                ['kernel', 'kernel'], ['jit', 'run-time code']].map(([kind, text]) => element('span', {},
                element('i', {style: `background:${palette.kind(kind, 0.4)}`}), text))));
        this.graph.rootsAtBottom = state.flame;
        this.graph.zoomPath = state.zoom;
        this.graph.show(state.inverted ? bottomUp(profile) : topDown(profile), profile,
                        {match: app.match});
    }
}

// ---- Columns that several tables share ----------------------------------------------------------

// Columns of inclusive and exclusive cost of what `costs(row)` gives; shares of the selection.
function costColumns(app, costs, which) {
    const profile = () => app.profile, samples = () => profile().costs.samples[0];
    const value = row => profile().byWeight ? costs(row).weight : costs(row).samples;
    const self = row => profile().byWeight ? costs(row).selfWeight : costs(row).selfSamples;
    const known = (key, row, text) => key !== 'inclusive' || profile().hasPaths || value(row) ? text() : '–';
    const block = (title, key, pick, count, weight, help) => [
        {key, title, number: true, width: '92px', help, sorted: which === key,
            value: pick, bar: row => profile().total ? pick(row) / profile().total : 0, faint: row => !pick(row),
            text: row => known(key, row, () => formatPercent(pick(row), profile().total, samples()))},
        {key: key + '-samples', title: app.unit(), rank: app.event().calls ? 1 : 3, number: true, width: '84px', value: count, faint: row => !count(row),
            text: row => known(key, row, () => formatCount(count(row)))},
        ...(app.profile.isClock ? [{key: key + '-time', title: 'time', rank: 2, number: true, width: '94px', value: weight, faint: row => !weight(row),
            text: row => known(key, row, () => formatTime(weight(row)))}] : []),
    ];
    return [
        ...block('inclusive', 'inclusive', value, row => costs(row).samples, row => costs(row).weight,
            `of the selected ${app.unit()}, those that contain it`),
        ...block('exclusive', 'exclusive', self, row => costs(row).selfSamples, row => costs(row).selfWeight,
            `of the selected ${app.unit()}, those that end in it`),
    ];
}

function functionName(app, fn) {
    const {functions} = app.data;
    if (app.comparing && app.data.unnamedIn.has(fn))
        return element('span', {}, app.data.unnamedIn.get(fn));
    const tag = functions.flags[fn] & FLAG_INLINED ? element('span', {class: 'tag'}, 'inlined') : null;
    return nameElement(functions.shown[fn], functions.last[fn], tag);
}

const moduleName = (app, fn) => app.data.modules[app.data.functions.module[fn]].name;

// ---- Call tree ----------------------------------------------------------------------------------

class TreeView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        this.table = new TreeTable(host, [
            {title: 'call path', class: 'name', width: 'minmax(40ch, 1fr)',
                text: row => functionName(app, row.entry.function),
                tip: row => app.data.functions.names[row.entry.function]},
            ...costColumns(app, row => row.entry).map(column => ({...column, key: undefined})),
            {title: 'module', rank: 1, width: 'minmax(8rem, 18rem)', text: row => moduleName(app, row.entry.function)},
        ], {openFunction: fn => app.openFunction(fn)});
        this.pairs = new PairTree(host, app, 'call path', 'minmax(30ch, 1fr)');
    }

    // Of two runs that are compared, both sides.
    draw(app) {
        const {state, profile, comparison} = app;
        this.line.replaceChildren(...[segments([[false, 'Top-down'], [true, 'Bottom-up']], state.inverted,
            inverted => app.set({inverted, zoom: []})), comparison ? perSegments(app) : null,
            element('span', {class: 'muted'}, 'arrow keys open and close · * opens the hottest path · Enter shows callers and callees')]
            .filter(Boolean));
        const side = comparison || {topDown: () => topDown(profile), bottomUp: () => bottomUp(profile)};
        const root = state.inverted ? side.bottomUp() : side.topDown(), table = comparison ? this.pairs : this.table;
        this.pairs.hide(!comparison);
        this.table.hide(Boolean(comparison));
        if (this.shown !== root) {
            this.shown = root;
            table.show(root.children());
        } else {
            table.refresh();
        }
    }
}

// ---- Functions and modules ----------------------------------------------------------------------

function rowsOf(costs, count, keep) {
    const rows = [];
    for (let id = 0; id < count; id++)
        if ((costs.samples[id] || costs.weight[id] || costs.selfSamples[id] || costs.selfWeight[id]) && keep(id))
            rows.push({id, samples: costs.samples[id], weight: costs.weight[id],
                       selfSamples: costs.selfSamples[id], selfWeight: costs.selfWeight[id]});
    return rows;
}

class FunctionsView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        const columns = costColumns(app, row => row, 'exclusive');
        columns.splice(columns.findIndex(column => column.key === 'exclusive') + 1, 0, {
            title: '±', rank: 4, number: true, width: '52px', help: 'half of the 95 % interval of the exclusive share',
            text: row => app.event().calls ? '' : app.profile.uncertainty(app.profile.pickSelf(row)).toFixed(1)});
        this.table = new Table(host, [
            {key: 'name', title: 'function', class: 'name', width: 'minmax(40ch, 1fr)',
                value: row => app.data.functions.shown[row.id], text: row => functionName(app, row.id),
                tip: row => app.data.functions.names[row.id]},
            ...columns,
            {key: 'module', title: 'module', rank: 1, width: 'minmax(8rem, 18rem)', value: row => moduleName(app, row.id),
                text: row => moduleName(app, row.id)},
        ], {opened: row => app.openFunction(row.id)});
    }

    draw(app) {
        const {state, profile, data} = app, {module} = data.functions;
        const hit = app.match?.hit;
        const keep = fn => (!hit || hit[fn]) && (state.module < 0 || module[fn] === state.module);
        const rows = rowsOf(profile.functions(), data.functions.count, keep);
        this.line.replaceChildren(
            element('span', {class: 'muted'}, `${formatCount(rows.length)} functions` + (hit ? ' match' : '') +
                ' · double click shows callers and callees'),
            ...(state.module < 0 ? [] : [element('button', {class: 'chip', onclick: () => app.set({module: -1})},
                `only ${data.modules[state.module].name}  ✕`)]));
        this.table.show(rows);
    }
}

class ModulesView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line muted'}, 'a click leads to the functions of a module');
        host.append(this.line);
        this.table = new Table(host, [
            {key: 'name', title: 'module', class: 'name', width: 'minmax(24ch, 1fr)',
                value: row => app.data.modules[row.id].name, text: row => app.data.modules[row.id].name,
                tip: row => app.data.modules[row.id].path},
            {key: 'kind', title: 'kind', rank: 1, width: '110px', value: row => app.data.modules[row.id].kind, text: row => element('span', {},
                element('i', {style: `display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:${
                    app.palette.kind(app.data.modules[row.id].kind, 0.4)}`}), app.data.modules[row.id].kind)},
            ...costColumns(app, row => row, 'exclusive'),
        ], {chosen: row => app.set({tab: 'functions', module: row.id}),
            opened: row => app.set({tab: 'functions', module: row.id})});
    }

    draw(app) {
        this.table.show(rowsOf(app.profile.modules(), app.data.modules.length, () => true));
    }
}

// ---- Callers and callees ------------------------------------------------------------------------

class CallersView {
    constructor(app, host) {
        this.center = element('div', {class: 'center'});
        const callers = element('section', {}), callees = element('section', {});
        host.append(this.center, element('div', {class: 'split'}, callers, callees));
        const columns = first => [
            {title: first, class: 'name', width: 'minmax(22ch, 1fr)',
                text: row => functionName(app, row.entry.function),
                tip: row => app.data.functions.names[row.entry.function] + ' · ' +
                    moduleName(app, row.entry.function)},
            {title: 'of it', number: true, width: '82px', help: `inclusive: of the ${app.unit()} that contain the function`,
                bar: row => this.value ? row.entry.value / this.value : 0,
                text: row => formatPercent(row.entry.value, this.value, this.samples)},
            {title: 'of all', number: true, width: '78px', help: `of all selected ${app.unit()}`,
                text: row => formatPercent(row.entry.value, app.profile.total, app.profile.costs.samples[0])},
            {title: app.event().calls ? 'in or below' : 'samples', rank: 1, number: true, width: '84px', text: row => formatCount(row.entry.samples)},
            {title: 'self', number: true, width: '82px',
                help: first === 'caller' ? 'exclusive, of it: what the function costs itself when it is called so' :
                    'exclusive, of it: what the callee costs itself when it is called so',
                text: row => formatPercent(row.entry.self, this.value, this.samples)},
        ];
        callers.append(element('h3', {}, 'Callers: who calls it'));
        callees.append(element('h3', {}, 'Callees: what it calls'));
        const actions = empty => ({empty, openFunction: fn => app.openFunction(fn)});
        this.callers = new TreeTable(callers, columns('caller'), actions('nothing that was seen calls it'));
        this.callees = new TreeTable(callees, columns('callee'), actions('it was not seen to call anything'));
        this.pairs = [[callers, 'caller'], [callees, 'callee']].map(([place, title]) =>
            new PairTree(place, app, title, 'minmax(22ch, 1fr)'));
    }

    draw(app) {
        const {state, profile, data} = app;
        let fn = state.function;
        if (fn < 0) {
            const self = profile.pickSelf(profile.functions());
            fn = self.reduce((best, value, i) => value > self[best] ? i : best, 0);
        }
        if (app.comparing)
            fn = sameFunctions(data)[fn];
        const {comparison} = app;
        const {shown} = data.functions;
        if (this.profile === profile && this.comparison === comparison && this.fn === fn && this.shown === shown)
            return;
        Object.assign(this, {profile, comparison, fn, shown});
        const below = calleesOf(profile, fn), above = callersOf(profile, fn);
        this.value = below.value;
        this.samples = below.samples;
        const file = data.files[data.functions.file[fn]], all = profile.costs.samples[0];
        const self = profile.functions();
        this.center.replaceChildren(element('b', {title: profile.nameOf(fn)}, profile.shownOf(fn)),
            element('div', {class: 'muted'}, moduleName(app, fn) + (file ? ` · ${file}:${data.functions.line[fn]}` : '')),
            element('div', {}, `in ${formatCount(below.samples)} of ${formatCount(all)} ${profile.unit}, ` +
                `${formatPercent(below.value, profile.total, all)} · itself ` +
                `${formatCount(self.selfSamples[fn])}, ${formatPercent(profile.pickSelf(self)[fn], profile.total, all)} `,
                !app.event().calls && sourceOf(data, state.event)?.places.has(fn) ? element('button', {class: 'chip',
                    onclick: () => app.set({tab: 'source', function: fn})}, 'source') : null));
        for (const single of [this.callers, this.callees])
            single.hide(Boolean(comparison));
        for (const pair of this.pairs)
            pair.hide(!comparison);
        if (!comparison) {
            this.callers.show(above.children());
            this.callees.show(below.children());
            return;
        }
        const both = comparison.callees(fn);
        this.center.append(element('div', {}, `before ${comparison.text(both.before)} · now ${comparison.text(both.now)} · `,
            element('b', {class: stateOf(both)}, stateOf(both) === 'both' ? signed(both.change,
                (100 * Math.abs(both.change) / both.before).toFixed(1) + ' % of its own') : stateOf(both)), ' ', perSegments(app)));
        this.pairs[0].show(comparison.callers(fn).children());
        this.pairs[1].show(both.children());
    }
}

// ---- Time ---------------------------------------------------------------------------------------

class HeatView {
    constructor(app, host) {
        const place = element('div', {class: 'heat'});
        host.append(place);
        this.map = new HeatMap(place, app.palette, {range: slots => app.set({slots})});
    }

    draw(app) {
        this.map.show(app.timeCosts, app.state.slots, app.run().slotNs, app.data.events[app.state.event]);
    }
}
