// Stacks in the order of time, one band for each thread: a box is a function for as long as it was seen
// without a gap, with the same callers.

// More steps than this in the window have boxes too narrow for a name.
const ORDER_THREADS = 12, ORDER_DEEPEST = 64, ORDER_STEPS = 150;

// What a lane holds as {from, to, node}, times in slots. Costs of one step of so many slots share it.
function slotPieces(data, lane, isLeftOut, step) {
    const starts = laneStarts(data), {slot, node, weight, samples} = data.cells, pieces = [];
    for (let i = starts[lane], next; i < starts[lane + 1]; i = next) {
        const begin = slot[i] - slot[i] % step;
        let sum = 0, from = begin;
        for (next = i; next < starts[lane + 1] && slot[next] < begin + step; next++)
            sum += isLeftOut(node[next]) ? 0 : weight[next] || samples[next];
        for (let k = i; k < next && sum; k++) {
            if (isLeftOut(node[k]))
                continue;
            const to = from + step * (weight[k] || samples[k]) / sum;
            pieces.push({from, to, node: node[k]});
            from = to;
        }
        if (sum)
            pieces.at(-1).to = begin + step;
    }
    return pieces;
}

// How many slots a sample of the lanes stands for: by the wall clock they are rarer than slots.
function slotsOfSample(data, lanes, slotNs) {
    const starts = laneStarts(data), {weight, samples} = data.cells;
    let ns = 0, count = 0;
    for (const lane of lanes)
        for (let i = starts[lane]; i < starts[lane + 1]; i++) {
            ns += weight[i];
            count += weight[i] ? samples[i] : 0;
        }
    return count ? Math.ceil(ns / count / slotNs - 0.5) : 1;
}

// The boxes of a thread: {depth, function, node, from, to, state}, of pieces in the order of time.
function timeBoxes(view, pieces, slots) {
    const {parent, function: fns} = view.tree, boxes = [], open = [], stack = [];
    let end = -1;
    const close = depth => {
        while (open.length > depth) {
            const box = open.pop();
            box.to = end;
            boxes.push(box);
        }
    };
    for (const {from, to, node, state} of pieces) {
        if (to <= slots[0] || from >= slots[1])
            continue;
        stack.length = 0;
        for (let id = view.sink[node]; id; id = parent[id])
            stack.unshift(id);
        let depth = 0;
        while (from <= end + 1e-6 && depth < open.length && depth < stack.length && open[depth].node === stack[depth] && open[depth].state === state)
            depth++;
        close(depth);
        for (; depth < Math.min(stack.length, ORDER_DEEPEST); depth++)
            open.push({depth, function: fns[stack[depth]], node: stack[depth], from, to: 0, state});
        end = to;
    }
    close(0);
    return boxes;
}

class OrderView {
    constructor(app, host) {
        this.app = app;
        this.line = element('div', {class: 'bar-line'});
        const place = element('div', {class: 'flame'});
        host.append(this.line, place);
        const look = (from, to) => app.set({slots: [Math.floor(from), Math.min(app.run().slots, Math.max(Math.floor(from) + 1, Math.ceil(to)))]});
        this.chart = new BandChart(place, app, 'Stacks in the order of time', {
            describe: ({from, to}) => [element('span', {}, `${formatTime(from * this.slotNs)} – ${formatTime(to * this.slotNs)}, seen for ${
                formatTime((to - from) * this.slotNs)}`)],
            clicked: box => look(box.from, box.to),
            opened: box => app.openFunction(box.function),
            range: ([from, to]) => look(from, to),
            unitNs: () => this.slotNs,
            colorOf: ({state}) => state && app.palette.state(state),
            paintOver: context => paintWakes(context, this.chart, this.wakes(), this.slotNs, app.palette.mark),
        });
    }

    wakes() {
        return this.app.event().time && this.app.event().time !== 'on' ? this.app.waits()?.wakes || [] : [];
    }

    // A band for each of the busiest threads, with all of its lanes.
    makeBands(app, view, range) {
        const {data, state} = app, {time} = app.event(), timeless = timelessNodes(data), sums = app.timeCosts.threads, lanes = new Map();
        for (const lane of data.lanes.keys())
            if (laneIsSelected(data, lane, state))
                lanes.set(data.lanes[lane][1], [...lanes.get(data.lanes[lane][1]) || [], lane]);
        const isLeftOut = id => timeless[id] || view.sink[id] === DROPPED, total = thread => sums.get(thread)?.reduce((a, b) => a + b, 0) || 0;
        const ofSample = app.event().clock ? slotsOfSample(data, [...lanes.values()].flat(), app.run().slotNs) : 1;
        this.step = Math.max(1, Math.ceil((range[1] - range[0]) / ORDER_STEPS), Math.min(ofSample, range[1] - range[0]));
        this.hidden = Math.max(0, lanes.size - ORDER_THREADS);
        this.isExact = time === 'off' || time === 'both';
        this.bands = [...lanes.keys()].sort((a, b) => total(b) - total(a)).slice(0, ORDER_THREADS).map(thread => {
            const own = lanes.get(thread), pieces = this.isExact ? waitPieces(data, own, isLeftOut, app.run().slotNs)
                : slotPieces(data, own[0], isLeftOut, this.step);
            const boxes = timeBoxes(view, pieces, range);
            return {thread, boxes, rows: boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0)};
        }).filter(band => band.boxes.length);
    }

    draw(app) {
        const {state} = app, run = app.run(), range = state.slots || [0, run.slots];
        const view = app.view(state.mode), key = [state.event, state.thread, state.process, state.mode, ...range, state.idle, app.transformKey].join();
        if (key !== this.key) {
            this.key = key;
            this.makeBands(app, view, range);
            this.slotNs = run.slotNs;
        }
        this.line.replaceChildren(element('span', {class: 'muted'}, `left to right as it happened${this.isExact ? '' : `, in steps of ${formatSpan(this.step * run.slotNs)}`}` +
            (this.hidden ? ` · the ${ORDER_THREADS} busiest threads of ${ORDER_THREADS + this.hidden}` : '') + ' · a click looks at the time of a box' +
            (this.wakes().length ? ' · lines lead from what woke a thread to it' : '')));
        this.chart.show(this.bands, range);
    }
}
