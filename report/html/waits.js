// Time that threads wait: events that are read together, where it stood in time, and what ended waits.

// Of a run that measured waits, all kinds of them together, and the time of threads as a whole, as the
// events off-cpu and wall of `sprof report`.
function addSums(data) {
    for (const run of data.runs.keys()) {
        const own = [...data.events.keys()].filter(index => data.events[index].run === run && !data.events[index].parts);
        const off = own.filter(index => data.events[index].time === 'off'), on = own.find(index => data.events[index].time === 'on');
        const sum = {run, clock: true, calls: false, varying: true};
        if (off.length > 1)
            data.events.push({...sum, name: 'off-cpu', time: 'off', base: 'without a CPU', parts: off});
        if (off.length && on !== undefined)
            data.events.push({...sum, name: 'wall', time: 'both', base: "of threads' time", parts: [on, ...off],
                off: off.length > 1 ? data.events.length - 1 : off[0]});
    }
}

// A run that mostly waits is shown with its waits at first, and one that was made by the wall clock in any case.
function startWithWaits(data) {
    const {run} = data.events[data.firstEvent], {lane, weight, count} = data.cells, sums = {on: 0, off: 0};
    const wallOf = index => data.runs[data.events[index]?.run]?.allTime ?
        data.events.findIndex(event => event.run === data.events[index].run && event.time === 'both') : -1;
    const wall = data.events.findIndex(event => event.run === run && event.time === 'both');
    const sides = data.firstBase === undefined ? ['firstEvent'] : ['firstEvent', 'firstBase'];
    if (sides.every(side => wallOf(data[side]) >= 0))
        return void sides.forEach(side => (data[side] = wallOf(data[side])));
    if (wall < 0 || data.firstBase !== undefined)
        return;
    const kinds = data.lanes.map(([event, , idle]) => !idle && data.events[wall].parts.includes(event) ? data.events[event].time : undefined);
    for (let i = 0; i < count; i++)
        if (kinds[lane[i]])
            sums[kinds[lane[i]]] += weight[i];
    if (sums.off > sums.on)
        data.firstEvent = wall;
}

// Whether lanes of threads that wait for work are part of a selection: where that was chosen, and where
// nothing else is there.
function showsIdle(data, selection) {
    const key = [selection.event, selection.process, selection.thread].join();
    data.onlyIdle ||= new Map();
    if (!data.onlyIdle.has(key))
        data.onlyIdle.set(key, !data.lanes.some((lane, index) => !lane[2] && laneIsSelected(data, index, selection)));
    return selection.idle || data.onlyIdle.get(key);
}

// What threads did on a lane: 'wait' and 'ready', neither of which is on a CPU, or undefined.
function laneState(data, lane) {
    const {time, name} = data.events[data.lanes[lane][0]];
    return time !== 'off' ? undefined : name.endsWith(':ready') ? 'ready' : 'wait';
}

// What the lanes of one thread hold as {from, to, node, state}, times in slots: within a slot waits come
// first, then the time it was ready, then what it computed.
function waitPieces(data, lanes, isLeftOut, slotNs) {
    const starts = laneStarts(data), {slot, node, weight} = data.cells, cells = [], pieces = [];
    const rank = {wait: 0, ready: 1};
    for (const lane of lanes)
        for (let i = starts[lane], state = laneState(data, lane); i < starts[lane + 1]; i++)
            if (!isLeftOut(node[i]) && weight[i])
                cells.push({slot: slot[i], node: node[i], length: weight[i] / slotNs, state, rank: rank[state] ?? 2});
    cells.sort((a, b) => a.slot - b.slot || a.rank - b.rank);
    for (let first = 0, next, end = 0; first < cells.length; first = next) {
        let length = 0;
        for (next = first; next < cells.length && cells[next].slot === cells[first].slot; next++)
            length += cells[next].length;
        let from = cells[first].slot + 1 - length;
        for (const cell of cells.slice(first, next)) {
            const to = from + cell.length;
            if (to > end)
                pieces.push({from: Math.max(from, end), to, node: cell.node, state: cell.state});
            end = Math.max(end, to);
            from = to;
        }
    }
    return pieces;
}

const STATE_NAMES = {run: 'on a CPU', wait: 'waiting', ready: 'ready, without a CPU'};

// Of an entry of the tree, what of its time is on a CPU, waiting and ready: [[state, share]]; empty where that is not known.
function stateShares(profile, entry) {
    const {data} = profile, {off, parts} = data.events[profile.event];
    if (off === undefined || !entry.nodes)
        return [];
    const costsOf = event => event === undefined ? null : treeCosts(profile.view, new SelectedCosts(data).choose({...profile.selection, event}));
    profile.states ||= [off, parts.find(part => data.events[part].name.endsWith(':ready'))].map(costsOf);
    const [without, ready] = profile.states.map(costs => costs ? entry.nodes.reduce((sum, id) => sum + costs.weight[id], 0) / Math.max(1, entry.weight) : 0);
    return [['run', 1 - without], ['wait', without - ready], ['ready', ready]];
}

// Lines from the threads that woke others to these, of the longest waits.
const WAKE_LINES = 300;

function paintWakes(context, chart, wakes, slotNs, color) {
    const tops = new Map(chart.bands.map(band => [band.thread, band.y - chart.scroller.scrollTop + BAND_ROW])), [begin, end] = chart.range;
    let left = WAKE_LINES;
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.2;
    context.globalAlpha = 0.55;
    for (const [thread, woken, ran, waker] of wakes) {
        const from = tops.get(waker), to = tops.get(thread), x = chart.x(woken / slotNs), next = chart.x(ran / slotNs);
        if (from === undefined || to === undefined || from === to || woken / slotNs < begin || woken / slotNs > end || !left--)
            continue;
        const tip = to + (from < to ? 0 : BAND_ROW), side = from < to ? -5 : 5;
        context.beginPath();
        context.moveTo(x, from + (from < to ? BAND_ROW : 0));
        context.lineTo(next, tip);
        context.stroke();
        context.beginPath();
        context.moveTo(next, tip);
        context.lineTo(next - 3, tip + side);
        context.lineTo(next + 3, tip + side);
        context.fill();
    }
    context.globalAlpha = 1;
}

// What threads waited for, and what ended that: the tables of `sprof report --wakers` and `--wait-chains`.
class WaitsView {
    constructor(app, host) {
        this.app = app;
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        // "for a lock in shop::Ledger::book ← main": the function stays, the rest gives way.
        const name = key => row => {
            const [, kind, fn, callers] = /^((?:.*? (?:in|by) )?)(.*?)( ← .*)?$/s.exec(row[key]);
            const scope = /^[^(]*::/.exec(fn)?.[0] || '';
            return element('span', {class: 'cut'}, kind + scope ? element('span', {class: 'scopes'}, kind + scope) : null,
                element('span', {class: 'last'}, fn.slice(scope.length)), callers ? element('span', {class: 'values'}, callers) : null);
        };
        this.table = new Table(host, [
            {key: 'percent', title: 'share', number: true, width: '126px', sorted: true, value: row => row.percent, bar: row => row.percent / this.most,
                text: row => `${row.percent.toFixed(row.percent < 10 ? 1 : 0)} %`},
            {key: 'seconds', title: 'time', rank: 2, number: true, width: '86px', value: row => row.seconds, text: row => formatTime(row.seconds * 1e9)},
            {key: 'waits', title: 'waits', rank: 1, number: true, width: '72px', value: row => row.waits, text: row => formatCount(row.waits)},
            {key: 'waiting', title: 'waiting', class: 'name', width: 'minmax(26ch, 1fr)', value: row => row.waiting, text: name('waiting'), tip: row => row.waiting},
            {key: 'woken_by', title: 'woken by', class: 'name', width: 'minmax(26ch, 1fr)', value: row => row.woken_by, text: name('woken_by'), tip: row => row.woken_by},
        ], {});
    }

    draw(app) {
        const {wakers, chains} = app.waits(), choice = app.state.chains, text = app.state.search.toLowerCase();
        const rows = JSON.parse(choice ? chains : wakers).rows.filter(row => !text || row.waiting.toLowerCase().includes(text) || row.woken_by.toLowerCase().includes(text));
        this.most = rows.reduce((most, row) => Math.max(most, row.percent), 0) || 1;
        this.line.replaceChildren(segments([[false, 'Woken by'], [true, 'Chains of waits']], choice, chains => app.set({chains})),
            element('span', {class: 'muted'}, 'of the whole run, with waits for work · in Time order, lines lead from what woke a thread to it'));
        this.table.show(rows);
    }
}
