// The views behind the tabs. Each is made with (app, host) and has draw(app).

// ---- Summary ------------------------------------------------------------------------------------

class SummaryView {
    constructor(app, host) {
        this.scroll = element('div', {class: 'scroll'});
        host.append(this.scroll);
    }

    draw(app) {
        const {profile, data} = app, run = app.run(), samples = profile.costs.samples[0];
        const cards = cardsOf(app).map(card => element('div', {class: 'card'}, element('span', {class: 'big'}, card.value),
            ` ${card.title} `, element('span', {class: 'small'}, card.note)));
        const top = (costs, count, nameOf, tipOf, pick, open, choose = order => order) => {
            const value = pick(costs), order = [...Array(count).keys()].filter(i => value[i]).sort((a, b) => value[b] - value[a] || a - b);
            const share = i => formatPercent(value[i], profile.total, samples);
            const shown = choose(order).slice(0, 12).filter((i, at) => at < 3 || parseFloat(share(i)) > 0), most = value[shown[0]] || 1;
            return element('table', {class: 'list'}, ...shown.map(i => element('tr', {},
                element('td', {class: 'number bar', style: `--share:${(value[i] / most).toFixed(4)}`},
                    share(i)),
                element('td', {class: 'name'}, element('button', {title: tipOf(i), onclick: () => open(i)}, nameOf(i, shown))))));
        };
        const {names, flags} = data.functions, name = (fn, shown) => functionName(app, fn, namesakes(data, shown), placesOf(data, shown));
        const facts = element('table', {class: 'list facts-table'}, ...run.facts.map(([name, value]) =>
            element('tr', {}, element('td', {}, name), element('td', {}, value))));
        const own = selfWord(app).replace('s', 'S');
        const title = (word, text) => element('h3', {}, word, element('span', {class: 'muted'}, ` ${text}`));
        const functions = pick => [profile.functions(), data.functions.count, name, i => names[i], pick, fn => app.openFunction(fn)];
        this.scroll.replaceChildren(element('div', {class: 'cards'}, ...cards), this.trust(app),
            ...(data.pruned ? [element('p', {class: 'note muted'}, data.pruned)] : []),
            element('div', {class: 'columns'},
                !profile.total ? null : element('div', {}, element('h3', {}, own, element('span', {class: 'muted'}, own === 'Self' ? ' in the function itself · ' : ' in the function itself and in untraced ones · '),
                    element('span', {class: 'muted base'}, profile.base(app.narrowed() || Boolean(app.transformKey)))), top(...functions(c => profile.pickSelf(c))),
                    ...(profile.hasPaths || profile.callTotals ? [
                        title('Total', 'with what the function calls' + (profile.hasPaths ? '; functions that only pass on are left out' : '')),
                        top(...functions(c => profile.pick(c)), order => withoutPassing(profile, order.filter(fn => !(flags[fn] & FLAG_STARTUP))))] : [])),
                element('div', {}, ...(profile.total ? [title('Modules', own.toLowerCase()),
                    top(profile.modules(), data.modules.length, i => data.modules[i].name, i => data.modules[i].path,
                        c => profile.pickSelf(c), module => app.set({tab: 'functions', module}))] : []),
                    title(app.event().runs ? 'The last run' : 'This run', ''), facts)));
    }

    // How far the numbers can be trusted: one line where all is well.
    trust(app) {
        const run = app.run(), ofLast = app.event().runs ? element('span', {class: 'muted'}, 'the last run:') : null;
        const bad = run.trust.some(each => each.warn), [, ...notes] = run.quality;
        const told = new Set(run.trust.map(each => each.text));
        return element('div', {class: 'trust' + (bad ? ' bad' : '')}, ofLast, ...run.trust.map(each =>
            element('span', {class: each.warn ? 'warn' : '', title: each.note}, each.text)),
            ...notes.filter(note => !told.has(note) && note.length > 40 && note !== run.empty).map(note => element('p', {}, note)));
    }
}

// Without functions that have (nearly) all of their total from one that they call, directly or not: the
// one that stays is where paths part.
function withoutPassing(profile, order) {
    const {tree, value} = profile, {data} = profile, total = profile.pick(profile.functions()), most = order.slice(0, 60);
    const heaviest = fn => tree.nodesOf(fn).reduce((best, id) => value[id] > value[best] || !best ? id : best, 0);
    const isBelow = (fn, above) => {
        for (let id = tree.parent[heaviest(fn)]; id; id = tree.parent[id])
            if (tree.function[id] === above)
                return true;
        return false;
    };
    return most.filter((fn, at) => !(profile.hasPaths && most.slice(at + 1).concat(most.slice(0, at)).some(other =>
        total[other] >= 0.985 * total[fn] && total[other] <= total[fn] && data.functions.names[other] && isBelow(other, fn))));
}

// ---- Flame graph --------------------------------------------------------------------------------

function segments(values, current, choose) {
    return element('span', {class: 'segments', role: 'group'}, ...values.map(([value, title]) =>
        element('button', {'aria-pressed': String(value === current), onclick: () => choose(value)}, title)));
}

class FlameView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame'}), state = () => app.state;
        host.append(this.line, place);
        this.graph = new FlameGraph(place, app.palette, {
            zoomed: zoom => { app.state.zoom = zoom; app.save(); },
            openFunction: fn => app.openFunction(fn),
            menu: (event, entry) => app.menuOf.open(event, entry.function, state().inverted ? pathOf(entry).reverse() : pathOf(entry)),
            said: text => app.say(text),
        });
    }

    draw(app) {
        const {state, profile, palette} = app, byState = app.event().time === 'both' && !state.inverted;
        this.line.replaceChildren(
            segments([[false, 'Top-down'], [true, 'Bottom-up']], state.inverted,
                inverted => app.set({inverted, zoom: []})),
            segments([[false, 'Icicle'], [true, 'Flame graph']], state.flame, flame => app.set({flame})),
            element('button', {class: 'plain', onclick: () => this.graph.reset(), title: 'Esc'}, 'Zoom out'),
            element('span', {class: 'muted'}, state.inverted ? 'functions by self cost, their callers beside them' : ''),
            element('span', {class: 'legend'}, ...(byState ? Object.entries(STATE_NAMES).map(([state, text]) => element('span', {},
                element('i', {style: `background:${palette.mixed([[state, 1]])}`}), text)) : [['app', 'application'], ['system', 'system libraries'],
                ['kernel', 'kernel'], ['jit', 'run-time code']].map(([kind, text]) => element('span', {},
                element('i', {style: `background:${palette.kind(kind, 0.4)}`}), text)))));
        this.graph.rootsAtBottom = state.flame;
        this.graph.zoomPath = state.zoom;
        this.graph.show(state.inverted ? bottomUp(profile) : topDown(profile), profile,
                        {match: app.match, ...(byState ? {colorOf: entry => palette.mixed(stateShares(profile, entry)),
                            describe: (of, entry) => [...describeEntry(of, entry), element('span', {}, stateShares(of, entry)
                                .map(([state, share]) => `${STATE_NAMES[state]} ${formatPercent(share, 1, 0)}`).join(' · '))]} : {})});
    }
}

// ---- Columns that several tables share ----------------------------------------------------------

// Of calls, self costs hold the time outside of the traced modules where that was measured, and not by path.
function selfWord(app) {
    return app.event().calls && [...app.data.callTotals.values()].some(calls => calls.selfHoldsOutside) ? 'self+outside' : 'self';
}

// Columns of self and total cost of what `costs(row)` gives; shares of the selection.
function costColumns(app, costs, which, all) {
    const profile = () => app.profile, samples = () => profile().costs.samples[0];
    const value = row => profile().byWeight ? costs(row).weight : costs(row).samples;
    const self = row => profile().byWeight ? costs(row).selfWeight : costs(row).selfSamples;
    const known = (key, row, text) => key !== 'total' || profile().hasPaths || value(row) ? text() : '–';
    const ofSelf = selfWord(app), word = key => key === 'self' ? ofSelf : key;
    // Bars of self costs are of the largest; else most of them would be of no width.
    const mostOf = key => (key === 'self' && all ? largest(profile().pickSelf(all())) : profile().total) || 1;
    const share = (key, pick, help) => ({key, title: word(key), number: true, width: '126px', help, sorted: which === key,
        value: pick, bar: row => pick(row) / mostOf(key), faint: row => !pick(row),
        text: row => known(key, row, () => formatPercent(pick(row), profile().total, samples()))});
    const time = (key, weight) => app.profile.isClock ? [{key: key + '-time', title: word(key) + ' time', rank: app.event().calls ? 4 : 3, number: true, width: word(key) === key ? '92px' : '158px',
        value: weight, faint: row => !weight(row), text: row => known(key, row, () => formatTime(weight(row)))}] : [];
    const count = (key, title, count) => ({key: key + '-samples', title, rank: 4, number: true, width: '112px', value: count, faint: row => !count(row),
        text: row => known(key, row, () => formatCount(count(row)))});
    const calls = app.event().calls, unit = app.unit();
    return [
        share('self', self, `of the selected ${unit}, those that end in it`), ...time('self', row => costs(row).selfWeight),
        share('total', value, `of the selected ${unit}, those that contain it`), ...time('total', row => costs(row).weight),
        ...(calls ? [{...count('self', 'calls', row => costs(row).selfSamples), rank: 1, width: '84px'}]
            : [count('self', `self ${unit}`, row => costs(row).selfSamples), count('total', `total ${unit}`, row => costs(row).samples)]),
    ];
}

// How long single calls took, what of all their time was outside, and what they used beside time, of the whole run: what was
// not measured is not shown.
function callColumns(app) {
    const {callTotals} = app.data, known = key => [...callTotals.values()].some(calls =>
        [...calls.figures.values()].some(figures => figures[key] !== null));
    const ofOne = 'of one call, in the whole run';
    return [['outside', 'outside', 'of its time in modules without probes, as libc and in system calls, in the whole run', 4, formatTime],
        ['average', 'average', ofOne, 2, formatTime], ['p50', 'p50', ofOne, 3, formatTime], ['p99', 'p99', ofOne, 2, formatTime],
        ['most', 'max', ofOne, 2, formatTime],
        ['stack', 'stack', 'how deep in its stack it was called at most', 3, formatCount],
        ['heapSelf', 'heap self', 'bytes that it allocated, in the whole run', 3, formatCount],
        ['heapTotal', 'heap total', 'bytes that it allocated with all that it called, in the whole run', 3, formatCount],
        ['blocks', 'allocations', 'blocks that it allocated, in the whole run', 4, formatCount]]
        .filter(([key]) => known(key)).map(([key, title, help, rank, format]) => ({
        key, title, number: true, width: key === 'blocks' ? '92px' : '82px', rank, help,
        value: row => app.profile.figures?.get(row.id)?.[key] ?? -1, faint: row => !app.profile.figures?.get(row.id)?.[key],
        text: row => {
            const value = app.profile.figures?.get(row.id)?.[key];
            return value === undefined || value === null ? '–' : format(value);
        }}));
}

// The largest of some values, found once.
const largestOf = new WeakMap();
function largest(values) {
    if (!largestOf.has(values))
        largestOf.set(values, values.reduce((most, value) => Math.max(most, value), 0));
    return largestOf.get(values);
}

// `alike` are functions that look like another one of the list: their modules stand beside them. So do the `places`
// of those that look alike in modules of one name.
function functionName(app, fn, alike, places) {
    const {functions} = app.data, place = places?.get(fn);
    if (app.comparing && app.data.unnamedIn.has(fn))
        return element('span', {}, app.data.unnamedIn.get(fn));
    return nameElement(functions.shown[fn], functions.last[fn], functions.flags[fn] & FLAG_INLINED ? element('span', {class: 'tag'}, 'inlined') : null,
        alike?.has(fn) ? element('span', {class: 'tag of'}, 'of ' + moduleName(app, fn)) : null,
        place?.text ? element('span', {class: 'tag of', title: place.text}, 'at ' + place.text.slice(place.last)) : null);
}

// What distinguishes functions that look alike among all that cost something, for tables whose rows come and go.
function lookAlikes(app) {
    const {profile, base, data} = app, {shown} = data.functions;
    if (profile.toldApart?.shown !== shown || profile.toldApart.base !== base) {
        const sides = [profile, base].filter(Boolean).map(side => side.functions());
        const list = [...shown.keys()].filter(fn => sides.some(costs => costs.samples[fn] || costs.weight[fn] || costs.selfSamples[fn] || costs.selfWeight[fn]));
        profile.toldApart = {shown, base, alike: namesakes(data, list), places: placesOf(data, list)};
    }
    return profile.toldApart;
}

// Functions of a list that share their name with one of a module of another name.
function namesakes({functions, modules}, list) {
    const of = new Map(), name = fn => modules[functions.module[fn]].name;
    for (const fn of list) {
        const first = of.get(functions.shown[fn]);
        of.set(functions.shown[fn], first === undefined || first === name(fn) ? name(fn) : null);
    }
    return new Set(list.filter(fn => of.get(functions.shown[fn]) === null));
}

// What distinguishes functions of a list that have one name in modules of one name: function → its text, and where
// that begins to differ. These are the paths of their modules, the lines where they are declared, or where they begin
// in their files; else what of these is not the same for all.
function placesOf({functions, modules, files}, list) {
    const groups = new Map(), places = new Map();
    for (const fn of list) {
        const key = `${functions.shown[fn]}\0${modules[functions.module[fn]].name}`;
        groups.has(key) ? groups.get(key).push(fn) : groups.set(key, [fn]);
    }
    const path = fn => modules[functions.module[fn]].path || '';
    const line = fn => functions.file[fn] ? `${files[functions.file[fn]]}:${functions.line[fn]}` : '';
    const start = fn => functions.start.has(fn) ? `+0x${functions.start.get(fn)}` : '';
    for (const group of groups.values()) {
        const count = of => new Set(group.map(of)).size, kinds = [path, line, start].filter(of => count(of) > 1);
        const one = kinds.find(of => count(of) === group.length);
        const texts = kinds.length ? group.map(one || (fn => kinds.map(of => of(fn)).filter(Boolean).join(' · '))) : [], [first = ''] = texts;
        const differs = first.split('').findIndex((letter, i) => texts.some(text => text[i] !== letter));
        texts.forEach((text, i) => places.set(group[i], {text, last: differs > 0 ? first.lastIndexOf('/', differs - 1) + 1 : 0}));
    }
    return places;
}

// The room, in pixels, for the last component of a name, some of its scopes and what stands beside it.
function roomOfName(app, fn, alike, places) {
    const {functions} = app.data, scopes = functions.last[fn] ? 2 : 0, letters = functions.shown[fn].length - functions.last[fn] + scopes;
    const tag = text => 18 + 5.8 * text.length;
    return 22 + 7.3 * letters + (functions.flags[fn] & FLAG_INLINED ? tag('inlined') : 0) + (alike?.has(fn) ? tag('of ' + moduleName(app, fn)) : 0) +
        (places?.get(fn)?.text ? tag('at ' + places.get(fn).text.slice(places.get(fn).last)) : 0);
}

const moduleName = (app, fn) => app.data.modules[app.data.functions.module[fn]].name;

// ---- Call tree ----------------------------------------------------------------------------------

class TreeView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        this.table = new TreeTable(host, [
            {title: 'call path', class: 'name', width: 'minmax(40ch, 3fr)',
                text: row => functionName(app, row.entry.function, this.table.table.lacksModules ? lookAlikes(app).alike : null, lookAlikes(app).places),
                tip: row => app.data.functions.names[row.entry.function]},
            ...costColumns(app, row => row.entry).map(column => ({...column, key: undefined})),
            {title: 'module', rank: 2, width: 'minmax(6rem, 11rem)', text: row => moduleName(app, row.entry.function)},
        ], {openFunction: fn => app.openFunction(fn),
            menu: (event, row) => app.menuOf.open(event, row.entry.function, app.state.inverted ? pathOf(row.entry).reverse() : pathOf(row.entry))});
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
        const columns = costColumns(app, row => row, 'self', () => app.profile.functions());
        if (!app.event().calls)
            columns.splice(1, 0, {title: '±', rank: 3, number: true, width: '48px', help: 'half of the 95 % interval of the self share',
                text: row => app.profile.uncertainty(app.profile.pickSelf(row)).toFixed(1)});
        else
            columns.push(...callColumns(app));
        this.table = new Table(host, [
            {key: 'name', title: 'function', class: 'name', width: app.event().calls ? 'minmax(24ch, 3fr)' : 'minmax(40ch, 3fr)',
                value: row => app.data.functions.shown[row.id], text: row => functionName(app, row.id, this.table.lacksModules ? this.alike : null),
                needs: row => roomOfName(app, row.id, this.table.lacksModules ? this.alike : null),
                tip: row => app.data.functions.names[row.id]},
            ...columns,
            {key: 'module', title: 'module', rank: app.event().calls ? 3 : 2, width: 'minmax(6rem, 11rem)', value: row => moduleName(app, row.id),
                fits: row => moduleName(app, row.id), text: row => moduleName(app, row.id)},
            {key: 'at', title: 'at', rank: 1, class: 'name', width: 'minmax(16ch, 1fr)', absent: () => !this.places?.size, value: row => this.places.get(row.id)?.text || '',
                text: row => nameElement(this.places.get(row.id)?.text || '', this.places.get(row.id)?.last), tip: row => this.places.get(row.id)?.text},
        ], {opened: row => app.openFunction(row.id), menu: (event, row) => app.menuOf.open(event, row.id)});
    }

    draw(app) {
        const {state, profile, data} = app, {module} = data.functions;
        const hit = app.match?.hit;
        const keep = fn => (!hit || hit[fn]) && (state.module < 0 || module[fn] === state.module);
        const rows = rowsOf(profile.functions(), data.functions.count, keep);
        this.line.replaceChildren(
            element('span', {class: 'muted'}, `${formatCount(rows.length)} functions` + (hit ? ' match' : '') +
                (app.hasStacks() ? ' · double click shows callers and callees' : '')),
            ...(state.module < 0 ? [] : [element('button', {class: 'chip', onclick: () => app.set({module: -1})},
                `only ${data.modules[state.module].name}  ✕`)]));
        this.alike = namesakes(data, rows.map(row => row.id));
        const had = this.places?.size;
        this.places = placesOf(data, rows.map(row => row.id));
        if (!had !== !this.places.size)
            this.table.chooseColumns();
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
            ...costColumns(app, row => row, 'self', () => app.profile.modules()),
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
                text: row => functionName(app, row.entry.function, lookAlikes(app).alike, lookAlikes(app).places),
                needs: row => 15 + 8 * Math.min(row.level, 24) + roomOfName(app, row.entry.function, lookAlikes(app).alike, lookAlikes(app).places),
                tip: row => app.data.functions.names[row.entry.function] + ' · ' +
                    moduleName(app, row.entry.function)},
            {title: 'of it', number: true, width: '118px', help: `of the ${app.unit()} that contain the function`,
                bar: row => this.value ? row.entry.value / this.value : 0,
                text: row => formatPercent(row.entry.value, this.value, this.samples)},
            {title: 'of all', number: true, width: '78px', help: `of all selected ${app.unit()}`,
                text: row => formatPercent(row.entry.value, app.profile.total, app.profile.costs.samples[0])},
            {title: app.event().calls ? 'total calls' : 'samples', rank: 1, number: true, width: '84px', text: row => formatCount(row.entry.samples)},
            {title: 'self', rank: 2, number: true, width: '82px',
                help: first === 'caller' ? 'of it: what the function itself costs when it is called so' :
                    'of it: what the callee itself costs when it is called so',
                text: row => formatPercent(row.entry.self, this.value, this.samples)},
        ];
        callers.append(element('h3', {}, 'Callers: who calls it'));
        callees.append(element('h3', {}, 'Callees: what it calls'));
        const actions = empty => ({empty, openFunction: fn => app.openFunction(fn), menu: (event, row) => app.menuOf.open(event, row.entry.function)});
        this.callers = new TreeTable(callers, columns('caller'), actions('nothing that was seen calls it'));
        this.callees = new TreeTable(callees, columns('callee'), actions('it was not seen to call anything'));
        this.pairs = [[callers, 'caller'], [callees, 'callee']].map(([place, title]) =>
            new PairTree(place, app, title, 'minmax(30ch, 1fr)'));
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
        const {comparison} = app, hit = comparison ? null : app.match?.hit, peeks = Boolean(hit?.includes(1) && state.peek);
        const {shown} = data.functions;
        if (this.profile === profile && this.comparison === comparison && this.fn === fn && this.shown === shown && this.hit === hit && this.peeks === peeks)
            return;
        Object.assign(this, {profile, comparison, fn, shown, hit, peeks});
        if (peeks)
            fn = hit.indexOf(1);
        const seen = peeks ? new Profile(data, unitedView(data, profile.view, hit), state) : profile, below = calleesOf(seen, fn), above = callersOf(seen, fn);
        this.value = below.value;
        this.samples = below.samples;
        const file = data.files[data.functions.file[fn]], all = profile.costs.samples[0];
        const self = seen.functions();
        this.center.replaceChildren(element('b', {title: profile.nameOf(fn)}, peeks ? `all that '${state.search}' finds` : profile.shownOf(fn)),
            peeks ? '' : element('div', {class: 'muted'}, moduleName(app, fn) + (file ? ` · ${file}:${data.functions.line[fn]}` : '')),
            element('div', {}, `total ${formatPercent(below.value, profile.total, all)}, ${formatCount(below.samples)} of ${formatCount(all)} ${profile.unit}` +
                ` · self ${formatPercent(profile.pickSelf(self)[fn], profile.total, all)}, ${formatCount(self.selfSamples[fn])} `,
                !peeks && !app.event().calls && sourceOf(data, state.event)?.places.has(fn) ? element('button', {class: 'chip',
                    onclick: () => app.set({tab: 'source', function: fn})}, 'source') : '', ' ', this.peekChip(app, hit) || ''));
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

    peekChip(app, hit) {
        const count = hit ? hit.reduce((sum, one) => sum + one, 0) : 0;
        return count ? element('button', {class: 'chip', 'aria-pressed': String(app.state.peek), onclick: () => app.set({peek: !app.state.peek})},
            app.state.peek ? `${formatCount(count)} functions as one  ✕` : `all ${formatCount(count)} that the search finds`) : null;
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
