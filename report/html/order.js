// Stacks in the order of time, one band for each thread: a box is a function for as long as it was seen
// without a gap, with the same callers.

const ORDER_ROW = 15, ORDER_THREADS = 12, ORDER_DEEPEST = 64;

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
        this.canvas = element('canvas', {role: 'img', 'aria-label': 'Stacks in the order of time'});
        this.tall = element('div', {class: 'flame-tall'}, this.canvas);
        this.scroller = element('div', {class: 'flame-scroller', tabindex: 0}, this.tall);
        this.tip = element('div', {class: 'tip', hidden: true});
        place.append(this.scroller, this.tip);
        host.append(this.line, place);
        this.scroller.addEventListener('scroll', () => this.paint());
        this.canvas.addEventListener('mousemove', event => this.hover(event));
        this.canvas.addEventListener('mouseleave', () => this.tip.hidden = true);
        this.canvas.addEventListener('click', event => this.click(event));
        this.canvas.addEventListener('contextmenu', event => {
            const box = this.boxAt(event);
            if (box)
                app.menuOf.open(event, box.function);
        });
        this.canvas.addEventListener('dblclick', event => {
            const box = this.boxAt(event);
            if (box)
                app.openFunction(box.function);
        });
        new ResizeObserver(() => this.paint()).observe(this.scroller);
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
            this.range = range;
            this.slotNs = run.slotNs;
        }
        this.line.replaceChildren(element('span', {class: 'muted'}, `left to right as it happened, in slots of ${formatTime(run.slotNs)}` +
            (this.hidden ? ` · the ${ORDER_THREADS} busiest threads of ${ORDER_THREADS + this.hidden}` : '') + ' · a click looks at the time of a box'));
        let y = 0;
        for (const band of this.bands) {
            band.y = y;
            y += (band.rows + 1) * ORDER_ROW + 8;
        }
        this.tall.style.height = y + 'px';
        this.paint();
    }

    x(slot) {
        return (slot - this.range[0]) / (this.range[1] - this.range[0]) * this.scroller.clientWidth;
    }

    paint() {
        const {clientWidth: width, clientHeight: height, scrollTop} = this.scroller, {palette, data, profile} = this.app;
        if (!this.bands || !width || !height)
            return;
        const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext('2d');
        this.canvas.style.height = height + 'px';
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.textBaseline = 'middle';
        for (const band of this.bands) {
            if (band.y - scrollTop > height || band.y + (band.rows + 1) * ORDER_ROW < scrollTop)
                continue;
            context.font = '11px ' + palette.sans;
            context.fillStyle = palette.muted;
            context.fillText(threadTitle(data, band.thread), 2, band.y - scrollTop + ORDER_ROW / 2);
            context.font = '11px ' + palette.mono;
            const one = this.charWidth = context.measureText('m').width;
            for (const box of band.boxes)
                this.paintBox(context, band, box, one, scrollTop, profile);
        }
    }

    paintBox(context, band, box, one, scrollTop, profile) {
        const x = this.x(box.from), w = this.x(box.to) - x, y = band.y + (box.depth + 1) * ORDER_ROW - scrollTop, {palette, match} = this.app;
        if (w < 0.3 || y < -ORDER_ROW || y > this.scroller.clientHeight)
            return;
        const hit = match?.hit[box.function];
        context.globalAlpha = match && !hit ? 0.35 : 1;
        context.fillStyle = palette.function(box.function);
        context.fillRect(x, y, Math.max(0.6, w - (w > 4 ? 1 : 0)), ORDER_ROW - 1);
        context.globalAlpha = 1;
        if (w > 30) {
            context.fillStyle = palette.ink;
            context.fillText(cutName(profile.shownOf(box.function), profile.lastOf(box.function), Math.floor((w - 6) / one)), x + 3, y + ORDER_ROW / 2);
        }
    }

    boxAt(event) {
        const bounds = this.canvas.getBoundingClientRect(), x = event.clientX - bounds.left;
        const y = event.clientY - bounds.top + this.scroller.scrollTop;
        const band = this.bands.find(each => y >= each.y + ORDER_ROW && y < each.y + (each.rows + 1) * ORDER_ROW);
        const depth = band ? Math.floor((y - band.y) / ORDER_ROW) - 1 : -1;
        return band?.boxes.find(box => box.depth === depth && x >= this.x(box.from) && x < Math.max(this.x(box.to), this.x(box.from) + 1));
    }

    hover(event) {
        const box = this.boxAt(event), {profile} = this.app;
        this.tip.hidden = !box;
        this.canvas.style.cursor = box ? 'pointer' : 'default';
        if (!box)
            return;
        this.tip.replaceChildren(element('b', {}, profile.nameOf(box.function)), element('span', {class: 'muted'}, moduleName(this.app, box.function)),
            element('span', {}, `${formatTime(box.from * this.slotNs)} – ${formatTime(box.to * this.slotNs)}, seen for ${formatTime((box.to - box.from) * this.slotNs)}`));
        placeTip(this.tip, event, this.scroller);
    }

    click(event) {
        const box = this.boxAt(event);
        if (box)
            this.app.set({slots: [Math.floor(box.from), Math.max(Math.floor(box.from) + 1, Math.ceil(box.to))]});
    }
}
