// Stacks in the order of time, one band for each thread: a box is a function for as long as it was seen
// without a gap, with the same callers.

const ORDER_THREADS = 12, ORDER_DEEPEST = 64;

// The boxes of a thread: {depth, function, node, from, to}, times in slots. Costs of one slot share it.
function timeBoxes(data, view, lane, slots) {
    const starts = laneStarts(data), timeless = timelessNodes(data), {slot, node, weight, samples} = data.cells, {parent, function: fns} = view.tree;
    const boxes = [], open = [], stack = [], isLeftOut = id => timeless[id] || view.sink[id] === DROPPED;
    let end = -1;
    const close = depth => {
        while (open.length > depth) {
            const box = open.pop();
            box.to = end;
            boxes.push(box);
        }
    };
    for (let i = starts[lane]; i < starts[lane + 1];) {
        let next = i, sum = 0;
        for (; next < starts[lane + 1] && slot[next] === slot[i]; next++)
            sum += isLeftOut(node[next]) ? 0 : weight[next] || samples[next];
        if (sum && slot[i] >= slots[0] && slot[i] < slots[1]) {
            let from = slot[i];
            if (from > end)
                close(0);
            for (; i < next; i++) {
                if (isLeftOut(node[i]))
                    continue;
                stack.length = 0;
                for (let id = view.sink[node[i]]; id; id = parent[id])
                    stack.unshift(id);
                let depth = 0;
                while (depth < open.length && depth < stack.length && open[depth].node === stack[depth])
                    depth++;
                end = from;
                close(depth);
                for (; depth < Math.min(stack.length, ORDER_DEEPEST); depth++)
                    open.push({depth, function: fns[stack[depth]], node: stack[depth], from, to: 0});
                from += (weight[i] || samples[i]) / sum;
                end = from;
            }
            end = Math.round(end);
        }
        i = next;
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
        const look = (from, to) => app.set({slots: [Math.floor(from), Math.max(Math.floor(from) + 1, Math.ceil(to))]});
        this.chart = new BandChart(place, app, 'Stacks in the order of time', {
            describe: ({from, to}) => [element('span', {}, `${formatTime(from * this.slotNs)} – ${formatTime(to * this.slotNs)}, seen for ${
                formatTime((to - from) * this.slotNs)}`)],
            clicked: box => look(box.from, box.to),
            opened: box => app.openFunction(box.function),
            range: ([from, to]) => look(from, to),
            unitNs: () => this.slotNs,
        });
    }

    draw(app) {
        const {data, state} = app, run = app.run(), range = state.slots || [0, run.slots];
        const view = app.view(state.mode), key = [state.event, state.thread, state.process, state.mode, ...range, app.transformKey].join();
        if (key !== this.key) {
            this.key = key;
            const sums = app.timeCosts.threads, lanes = [...data.lanes.keys()].filter(lane => laneIsSelected(data, lane, state));
            const total = lane => sums.get(data.lanes[lane][1])?.reduce((a, b) => a + b, 0) || 0;
            this.hidden = Math.max(0, lanes.length - ORDER_THREADS);
            this.bands = lanes.sort((a, b) => total(b) - total(a)).slice(0, ORDER_THREADS).map(lane => {
                const boxes = timeBoxes(data, view, lane, range);
                return {thread: data.lanes[lane][1], boxes, rows: boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0)};
            }).filter(band => band.boxes.length);
            this.slotNs = run.slotNs;
        }
        this.line.replaceChildren(element('span', {class: 'muted'}, `left to right as it happened, in slots of ${formatTime(run.slotNs)}` +
            (this.hidden ? ` · the ${ORDER_THREADS} busiest threads of ${ORDER_THREADS + this.hidden}` : '') + ' · a click looks at the time of a box'));
        this.chart.show(this.bands, range);
    }
}
