// Calls that a trace has logged or kept one by one: when each thread made them, and what they called.

const STATE_WORDS = {run: 'ran', wait: 'waited', ready: 'was ready'};
const CALLS_OPENED = 200; // of a search that leaves no more all are in sight

// Which calls stay: of the chosen threads and time, and where functions are searched for those that were
// found, with their callers and with what they called. Callers stand before or behind what they call.
function chosenCalls({calls, count}, data, state, isHit) {
    const {start, duration, thread, caller} = calls, [from, to] = state.span || [-Infinity, Infinity];
    const stays = new Uint8Array(count), known = new Int8Array(count).fill(-1);
    const isInside = i => start[i] < to && start[i] + duration[i] >= from && (state.thread < 0 || thread[i] === state.thread) &&
        (state.process < 0 || data.threads[thread[i]].process === state.process);
    // Whether the call or one of its callers was found.
    const isBelowHit = at => {
        const way = [];
        let found = 0;
        for (let i = at + 1; i; i = caller[i - 1]) {
            found = known[i - 1] >= 0 ? known[i - 1] : isHit(i - 1) ? 1 : 0;
            if (known[i - 1] >= 0 || found || way.length > count)
                break;
            way.push(i - 1);
        }
        for (const i of way)
            known[i] = found;
        return known[at] = found;
    };
    for (let i = 0; i < count; i++) {
        if (!isInside(i) || isHit && !isBelowHit(i))
            continue;
        for (let up = i + 1; up && !stays[up - 1]; up = caller[up - 1])
            stays[up - 1] = 1;
    }
    return stays;
}

// The calls that stay as a tree: [0] are the indexes of those without a caller, [i + 1] of what call i called.
function calledBy(calls, stays, order) {
    const lists = new Map([[0, []]]), value = order === 'start' ? i => -calls.start[i] : i => calls[order][i];
    for (let i = 0; i < stays.length; i++)
        if (stays[i])
            lists.has(calls.caller[i]) ? lists.get(calls.caller[i]).push(i) : lists.set(calls.caller[i], [i]);
    for (const list of lists.values())
        list.sort((a, b) => value(b) - value(a) || a - b);
    return lists;
}

class CallEntry {
    constructor(view, index) {
        this.view = view;
        this.index = index;
        this.function = view.singles.calls.function[index];
        this.value = this.samples = view.singles.calls.duration[index] || 1;
    }

    children() {
        return this.kids ||= (this.view.lists.get(this.index + 1) || []).map(index => new CallEntry(this.view, index));
    }
}

class CallsView {
    constructor(app, host) {
        this.app = app;
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame calls-chart'});
        host.append(this.line, place);
        this.chart = new BandChart(place, app, 'Calls in the order of time', {
            describe: ({index}) => this.words(index).map(text => element('span', {}, text)),
            clicked: ({index}) => app.set({call: index}),
            opened: ({index}) => app.set({call: index, span: this.spanOf(index)}),
            range: span => app.set({span: span.map(Math.round)}),
            unitNs: () => 1,
        });
        const has = isIn => [...app.data.singleCalls.values()].some(isIn); // any run: the table stays when another one is chosen
        const value = name => row => this.singles.calls[name][row.entry.index], start = value('start'), duration = value('duration'), self = value('self');
        this.table = new TreeTable(host, [
            {title: 'call', class: 'name', width: 'minmax(36ch, 3fr)', tip: row => app.data.functions.names[row.entry.function],
                text: row => element('span', {class: 'cut'}, functionName(app, row.entry.function),
                    element('span', {class: 'values'}, this.values(row.entry.index)), this.mark(row.entry.index))},
            {title: 'start', rank: 1, number: true, width: '96px', text: row => startText(start(row))},
            {title: 'duration', number: true, width: '150px', bar: row => duration(row) / this.longest, faint: row => !duration(row),
                text: row => duration(row) ? formatTime(duration(row)) : '–'},
            {title: 'self', number: true, width: '92px', faint: row => !self(row), help: 'without the probed functions that it called',
                text: row => duration(row) ? formatTime(self(row)) : '–'},
            ...has(({calls}) => calls.waiting.some(Boolean)) ? [{title: 'states', rank: 2, class: 'states', width: '110px', help: 'how long it ran, waited, and was ready without a CPU',
                tip: row => this.states(row.entry.index).map(([state, ns]) => `${STATE_WORDS[state]} ${formatTime(ns)}`).join(', '), text: row => this.stateBar(row.entry.index)}] : [],
            ...has(({logged, calls}) => !logged || calls.why.some(Boolean)) ? [{title: 'kept for', rank: 2, class: 'reason', width: 'minmax(8rem, 1.5fr)',
                text: row => element('span', {}, this.text(value('why')(row)) || (this.singles.logged ? '' : 'caller of kept')), tip: row => this.text(value('why')(row)) || null}] : [],
            ...has(({calls}) => calls.request.some(Boolean)) ? [{title: 'request', rank: 4, width: 'minmax(6rem, 12rem)', text: row => this.text(value('request')(row))}] : [],
            {title: 'thread', rank: 3, width: 'minmax(7rem, 11rem)', text: row => threadTitle(app.data, value('thread')(row))},
        ], {openFunction: fn => app.openFunction(fn), empty: 'no call here is in what was chosen',
            chosen: entry => this.chosen !== entry.index && app.set({call: entry.index}),
            menu: (event, row) => app.menuOf.open(event, row.entry.function, this.wayTo(row.entry.index).map(index => this.singles.calls.function[index]))});
    }

    text(number) {
        return number ? this.singles.texts[number - 1] : '';
    }

    // How it ended, where it did not return.
    mark(index) {
        const exit = this.text(this.singles.calls.exit[index]);
        return exit && exit !== 'return' ? element('span', {class: 'tag'}, exit) : null;
    }

    // The parts of its time: [[state, nanoseconds]], none where they are not known.
    states(index) {
        const {duration, waiting, ready} = this.singles.calls;
        if (!waiting[index] || !duration[index])
            return [];
        const parts = [['wait', waiting[index] - 1], ['ready', ready[index] - 1]], off = parts[0][1] + parts[1][1];
        return [['run', Math.max(0, duration[index] - off)], ...parts].filter(([, ns]) => ns > 0);
    }

    stateBar(index) {
        const parts = this.states(index), all = parts.reduce((sum, [, ns]) => sum + ns, 0);
        return element('span', {class: 'state-bar'}, ...parts.map(([state, ns]) => element('i', {
            style: `width:${(100 * ns / all).toFixed(2)}%;background:${this.stateColor(state)}`})));
    }

    stateColor(state) { return state === 'run' ? this.app.palette.kind('app', 0.4) : this.app.palette.state(state); }

    // "(id = 81723) = -1 [errno = ENOENT]", as far as it is known.
    values(index) {
        const {arguments: given, result, beside} = this.singles.calls;
        const texts = this.text(given[index]), isLost = /^(\w+ = not saved(, |$))+$/.test(texts);
        return (given[index] ? isLost ? '(arguments not saved)' : `(${texts})` : '') + (result[index] ? ` = ${this.text(result[index])}` : '') +
            (beside[index] ? ` [${this.text(beside[index])}]` : '');
    }

    // Whether a search finds a call by its function or by its values.
    finder(app) {
        const hit = app.match?.hit, {calls} = this.singles, part = app.state.search.toLowerCase();
        const holds = this.singles.texts.map(text => text.toLowerCase().includes(part)), isIn = number => number && holds[number - 1];
        const isThrown = number => isIn(number) && this.text(number).startsWith('exception ');
        return hit && (index => hit[calls.function[index]] || isIn(calls.arguments[index]) || isIn(calls.result[index]) ||
            isIn(calls.beside[index]) || isThrown(calls.exit[index]) || isIn(calls.request[index]));
    }

    words(index) {
        const {start, duration, self, exit, why, thread} = this.singles.calls, reason = this.text(why[index]);
        return [`${threadTitle(this.app.data, thread[index])} · from ${startText(start[index])}`,
            ...(this.values(index) ? [this.values(index)] : []), duration[index] ? `${formatTime(duration[index])}, self ${formatTime(self[index])}` : 'did not end',
            ...(this.states(index).length > 1 ? [this.states(index).map(([state, ns]) => `${STATE_WORDS[state]} ${formatTime(ns)}`).join(', ')] : []),
            ...(this.text(exit[index]) === 'return' ? [] : [`ended by: ${this.text(exit[index])}`]), ...(reason ? [`kept for ${reason}`] : [])];
    }

    // The calls from the outermost one to this one.
    wayTo(index) {
        const {caller} = this.singles.calls, way = [];
        for (let i = index + 1; i && way.length < this.singles.count; i = caller[i - 1])
            way.unshift(i - 1);
        return way;
    }

    // The call with a little room on both sides.
    spanOf(index) {
        const {start, duration} = this.singles.calls, length = Math.max(1000, duration[index]), room = Math.round(length / 50);
        return [Math.max(0, start[index] - room), start[index] + length + room];
    }

    draw(app) {
        const {state, data, match} = app, order = state.order, singles = app.singles();
        const key = [data.runs.indexOf(app.run()), state.thread, state.process, state.span, order, state.search].join();
        if (key !== this.key || match !== this.match) {
            Object.assign(this, {key, match, singles});
            this.isFound = this.finder(app);
            const stays = chosenCalls(singles, data, state, this.isFound), {duration} = singles.calls;
            this.lists = calledBy(singles.calls, stays, order);
            this.longest = duration.reduce((most, value, i) => stays[i] ? Math.max(most, value) : most, 1);
            this.shown = stays.reduce((sum, one) => sum + one, 0);
            this.makeBands(stays);
            this.table.show(this.lists.get(0).map(index => new CallEntry(this, index)));
            this.chosen = undefined;
            const longest = this.table.rows.filter(row => row.level === 0).reduce((most, row) =>
                !most || duration[row.entry.index] > duration[most.entry.index] ? row : most, null);
            if (longest && state.call < 0)
                this.table.openHot(longest, 12);
            for (let i = 0; this.isFound && this.shown <= CALLS_OPENED && i < this.table.rows.length; i++)
                this.table.open(this.table.rows[i]);
            this.table.refresh();
        } else {
            this.table.refresh();
        }
        this.paintLine(app);
        this.choose(state.call);
        this.chart.show(this.bands, state.span || this.wholeSpan());
    }

    // From the first call to the end of the last one.
    wholeSpan() {
        const from = this.bands.reduce((least, {boxes}) => boxes.reduce((sum, box) => Math.min(sum, box.from), least), Infinity);
        const to = this.bands.reduce((most, {boxes}) => boxes.reduce((sum, box) => Math.max(sum, box.to), most), 0);
        return from < to ? [from, to] : [0, Math.max(1, this.app.run().durationNs)];
    }

    // A call that has not ended lasts as long as the run.
    makeBands(stays) {
        const {byRequest} = this, {calls, count} = this.singles, group = i => byRequest ? `${calls.request[i]}:${calls.thread[i]}` : calls.thread[i];
        const depth = new Uint16Array(count), bands = new Map(), end = this.app.run().durationNs;
        for (let i = 0; i < count; i++) {
            const up = calls.caller[i] - 1, same = up >= 0 && group(up) === group(i);
            depth[i] = same ? Math.min(depth[up] + 1, ORDER_DEEPEST) : 0;
            if (!stays[i] || (byRequest && !calls.request[i]))
                continue;
            const band = bands.get(group(i)) || {thread: calls.thread[i], boxes: [], rows: 1, start: calls.start[i],
                title: byRequest && `request ${this.text(calls.request[i])} · ${threadTitle(this.app.data, calls.thread[i])}`, request: calls.request[i]};
            bands.set(group(i), band);
            band.start = Math.min(band.start, calls.start[i]);
            band.rows = Math.max(band.rows, depth[i] + 1);
            band.boxes.push({depth: depth[i], function: calls.function[i], index: i, found: this.isFound?.(i), from: calls.start[i],
                to: calls.duration[i] ? calls.start[i] + calls.duration[i] : Math.max(end, calls.start[i])});
        }
        this.bands = [...bands.values()];
        if (byRequest)
            this.bands.sort(this.afterRequests());
    }

    // Requests in the order in which they begin, and the parts of each.
    afterRequests() {
        const first = new Map();
        for (const {request, start} of this.bands)
            first.set(request, Math.min(start, first.get(request) ?? Infinity));
        return (a, b) => first.get(a.request) - first.get(b.request) || a.request - b.request || a.start - b.start;
    }

    paintLine(app) {
        const {state} = app, {singles} = this, rules = singles.rules.map(([text, fired, dropped]) =>
            `${text}: ${formatCount(fired - dropped)}${dropped ? ` (${formatCount(dropped)} dropped)` : ''}`);
        const held = singles.count < singles.all ? `the page holds the ${formatCount(singles.count)} longest of ${formatCount(singles.all)} calls: sprof ${
            singles.logged ? 'script' : 'report --kept'} shows all` : '';
        this.line.replaceChildren(element('span', {}, element('b', {}, formatCount(this.shown)),
            ` ${singles.logged ? 'logged' : 'kept'} call${this.shown === 1 ? '' : 's'}${singles.logged ? '' : ' and callers'}`),
        segments([['start', 'By start'], ['duration', 'By duration'], ['self', 'By self']], state.order, order => app.set({order})),
        ...(singles.calls.request.some(Boolean) ? [segments([['thread', 'Threads'], ['request', 'Requests']], this.byRequest ? 'request' : 'thread', by => {
            this.byRequest = by === 'request';
            this.key = null;
            this.draw(app);
        })] : []),
        ...(state.span ? [element('button', {class: 'chip', 'aria-label': 'Look at all of the time again', onclick: () => app.set({span: null})},
            `${startText(state.span[0])} – ${startText(state.span[1])}  ✕`)] : []),
        element('span', {class: 'muted'}, [held, ...rules, 'drag to look at a time, double click at a call'].filter(Boolean).join(' · ')),
        singles.calls.waiting.some(Boolean) ? element('span', {class: 'legend'}, ...['run', 'wait', 'ready'].map(state => element('span', {},
            element('i', {style: `background:${this.stateColor(state)}`}), STATE_WORDS[state]))) : '');
    }

    // Marks a call in the chart and in the table, where its callers are opened.
    choose(index) {
        this.chart.chosen = this.bands.flatMap(band => band.boxes).find(box => box.index === index);
        if (index === this.chosen || !this.chart.chosen)
            return;
        this.chosen = index;
        const {table} = this, find = at => table.rows.findIndex(row => row.entry.index === at);
        for (const each of this.wayTo(index).slice(0, -1))
            if (find(each) >= 0)
                table.open(table.rows[find(each)]);
        table.refresh();
        table.table.at = find(index);
        const {clientHeight, scrollTop} = table.table.scroller, y = table.table.at * TABLE_ROW;
        if (y < scrollTop || y + 2 * TABLE_ROW > scrollTop + clientHeight)
            table.table.reveal(table.table.at);
        table.refresh();
    }
}

// Seconds since the start of the run, to the microsecond.
function startText(ns) {
    return (ns / 1e9).toFixed(6) + ' s';
}
