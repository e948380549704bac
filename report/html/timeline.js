// When the time was spent: a strip of all threads together, one lane for each thread, and a heat map
// of seconds against parts of a second. A dragged range snaps to whole slots and filters all views.

const TIMELINE_THREADS = 24;
const LEFT_OUT = 255;
const KINDS = ['app', 'system', 'kernel', 'none', 'ready', 'wait'], CODE_KINDS = 4; // the first of them

// The kind of code that the samples of each recorded path count for in a mode: an index of KINDS.
function pathKinds(data, view) {
    const kindOf = data.modules.map(({kind}) => kind === 'jit' ? 0 : KINDS.includes(kind) ? KINDS.indexOf(kind) : 3);
    const {sink} = view, fns = view.tree.function, {module} = data.functions, kinds = new Uint8Array(sink.length);
    for (let id = 1; id < sink.length; id++)
        kinds[id] = sink[id] === DROPPED ? LEFT_OUT : kindOf[module[fns[sink[id]]]];
    return kinds;
}

// CPU time without samples stands at no time.
function timelessNodes(data) {
    return data.timeless ||= Uint8Array.from({length: data.nodes.count + 1}, (none, node) =>
        node && data.notSampled.has(data.nodes.function[node - 1]) ? 1 : 0);
}

// "worker-1 4243", of a thread's name and number.
function threadTitle(data, thread) {
    const {name, tid, process} = data.threads[thread];
    return `${name || data.processes[process].name || '?'} ${tid}`;
}

// The time of one thread, of each kind: no slot holds more of it than its length. A wait, and what a sample stands
// for, is recorded where it ends, so what does not fit there was before, and the time on a CPU was the nearest.
// What does not fit there either comes after. Where there is more time than the slots have, all hold the same.
function fitTime(kinds, slotNs) {
    const {length} = kinds[0], left = kinds.map(() => 0);
    const all = kinds.reduce((sum, costs) => costs.reduce((a, b) => a + b, sum), 0), most = Math.max(slotNs, all / length);
    const fill = (at, room) => {
        for (let kind = 0; kind < kinds.length; kind++) {
            const part = Math.min(left[kind], room);
            kinds[kind][at] += part;
            left[kind] -= part;
            room -= part;
        }
    };
    for (let at = length - 1; at >= 0; at--) {
        kinds.forEach((costs, kind) => {
            left[kind] += costs[at];
            costs[at] = 0;
        });
        fill(at, most);
    }
    for (let at = 0; at < length && left.some(cost => cost > 0); at++)
        fill(at, Math.max(0, most - kinds.reduce((sum, costs) => sum + costs[at], 0)));
}

// What a thread's lanes hold of each kind in each slot; undefined: nothing of a kind.
function threadCosts(data, lanes, kindOf, values, slots) {
    const {slot, node} = data.cells, starts = laneStarts(data), timeless = timelessNodes(data), own = KINDS.map(() => undefined);
    for (const lane of lanes) {
        const state = laneState(data, lane), known = state && KINDS.indexOf(state);
        for (let i = starts[lane]; i < starts[lane + 1]; i++) {
            const kind = kindOf[node[i]];
            if (timeless[node[i]] || kind === LEFT_OUT)
                continue;
            (own[known ?? kind] ||= new Float64Array(slots))[slot[i]] += values[i];
        }
    }
    return own;
}

// Cost per slot, of what is known to have happened in it, in all and per kind of code, of what a selection without a range holds.
function slotCosts(data, selection, view) {
    const {slots: own, slotNs, allTime} = data.runs[data.events[selection.event].run], slots = Math.max(1, own), waits = new Map();
    const kindOf = view.pathKinds ||= pathKinds(data, view), sums = KINDS.map(() => new Float64Array(slots));
    const event = data.events[selection.event], values = event.varying || event.clock ? data.cells.weight : data.cells.samples;
    const threads = new Map(), lanes = new Map();
    for (let lane = 0; lane < data.lanes.length; lane++)
        if (laneIsSelected(data, lane, selection))
            lanes.set(data.lanes[lane][1], [...lanes.get(data.lanes[lane][1]) || [], lane]);
    for (const [thread, each] of lanes) {
        const costs = threadCosts(data, each, kindOf, values, slots), some = costs.filter(Boolean);
        // A sample by the wall clock may weigh for several threads; other costs of a clock are the time of one.
        if (event.clock && !allTime && data.threads[thread].single && some.length)
            fitTime(some, slotNs);
        const add = (to, from) => from && from.forEach((cost, at) => to[at] += cost);
        costs.forEach((of, kind) => add(sums[kind], of));
        threads.set(thread, new Float64Array(slots));
        some.forEach(of => add(threads.get(thread), of));
        if (each.some(lane => laneState(data, lane)))
            waits.set(thread, new Float64Array(slots));
        costs.slice(CODE_KINDS).forEach(of => add(waits.get(thread), of));
    }
    return {slots, threads, waits, samples: data.cells.count, perKind: Object.fromEntries(KINDS.map((kind, at) => [kind, sums[at]]))};
}

const STRIP_LEGEND = [['app', 'app', 'the application'], ['system', 'libraries', 'system libraries'], ['kernel', 'kernel', 'the kernel']];
const WAIT_LEGEND = [['ready', 'ready', 'ready to run, without a CPU'], ['wait', 'waiting', 'waiting']];
const KIND_WORDS = {app: 'application', system: 'system libraries', kernel: 'kernel', none: 'other', ready: 'ready, without a CPU', wait: 'waiting'};
const STRIP = 28, STRIP_LANE = 16, STRIP_AXIS = 14, STRIP_LABELS = 190;

class Timeline {
    constructor(host, palette, actions) {
        this.palette = palette;
        this.actions = actions;
        this.canvas = element('canvas', {tabindex: 0, role: 'slider',
            'aria-label': 'Time range: drag, or arrow keys with Shift to widen'});
        this.tip = element('div', {class: 'tip', hidden: true});
        host.append(this.canvas, this.tip);
        this.canvas.addEventListener('pointermove', event => this.hover(event));
        this.canvas.addEventListener('pointerleave', () => this.tip.hidden = true);
        this.expanded = false;
        this.range = null;
        this.canvas.addEventListener('pointerdown', event => this.down(event));
        this.canvas.addEventListener('pointermove', event => this.drag(event));
        this.canvas.addEventListener('pointerup', () => this.drop());
        this.canvas.addEventListener('dblclick', () => this.actions.range(null));
        this.canvas.addEventListener('keydown', event => this.key(event));
        this.canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
        new ResizeObserver(() => this.costs && this.paint()).observe(host);
    }

    // Half of the range, or twice as much, around the pointer.
    wheel(event) {
        if (!event.ctrlKey || !event.deltaY)
            return;
        event.preventDefault();
        const {slots} = this.costs, [start, end] = this.range || [0, slots], at = this.slotAt(event);
        const width = Math.max(1, Math.min(slots, Math.round((end - start) * (event.deltaY < 0 ? 0.5 : 2))));
        const share = Math.max(0, Math.min(1, (at - start) / (end - start)));
        const from = Math.max(0, Math.min(slots - width, Math.round(at - share * width)));
        this.actions.range(width === slots ? null : [from, from + width]);
    }

    show(data, costs, range, run, event) {
        Object.assign(this, {data, costs, range, slotNs: run.slotNs, phases: run.phases, event: data.events[event]});
        const [from, to] = (range || [0, costs.slots]).map(slot => +(slot * run.slotNs / 1e9).toFixed(3));
        this.canvas.setAttribute('aria-valuemin', 0);
        this.canvas.setAttribute('aria-valuemax', costs.slots);
        this.canvas.setAttribute('aria-valuenow', range ? range[0] : 0);
        this.canvas.setAttribute('aria-valuetext', range ? `${from} to ${to} seconds` : `all of ${to} seconds`);
        this.paint();
    }

    slotAt(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const at = (event.clientX - bounds.left - this.left) / (bounds.width - this.left);
        return Math.max(0, Math.min(this.costs.slots - 1, Math.floor(at * this.costs.slots)));
    }

    down(event) {
        this.anchor = this.slotAt(event);
        this.moved = false;
        this.canvas.setPointerCapture(event.pointerId);
    }

    drag(event) {
        if (this.anchor === undefined)
            return;
        const at = this.slotAt(event);
        if (at !== this.anchor)
            this.moved = true;
        this.range = [Math.min(at, this.anchor), Math.max(at, this.anchor) + 1];
        this.paint();
    }

    drop() {
        if (this.anchor === undefined)
            return;
        this.anchor = undefined;
        this.actions.range(this.moved ? this.range : null);
    }

    key(event) {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (event.key === 'Escape')
            this.actions.range(null);
        else if (step) {
            const [start, end] = this.range || [0, 1];
            const most = this.costs.slots;
            this.actions.range(event.shiftKey
                ? [start, Math.max(start + 1, Math.min(most, end + step))]
                : start + step < 0 || end + step > most ? [start, end] : [start + step, end + step]);
        } else
            return;
        event.preventDefault();
        event.stopPropagation();
    }

    // Rows for the busiest threads, by process: of several processes, each has a row with its command before them.
    rowsShown() {
        const {data} = this, sum = values => values.reduce((a, b) => a + b, 0);
        const all = [...this.costs.threads].map(([thread, values]) => ({thread, values, sum: sum(values)}));
        const processes = new Map();
        for (const entry of all.sort((a, b) => b.sum - a.sum).slice(0, TIMELINE_THREADS)) {
            const {process} = data.threads[entry.thread];
            processes.set(process, [...processes.get(process) || [], entry]);
        }
        return [...processes].flatMap(([process, threads]) => processes.size > 1 ? [{process}, ...threads] : threads);
    }

    paint() {
        const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
        const lanes = this.expanded ? this.rowsShown() : [];
        const strip = STRIP, lane = STRIP_LANE, axis = STRIP_AXIS, height = strip + lanes.length * lane + axis;
        this.left = width > 620 ? STRIP_LABELS : lanes.length ? width / 4 : 0;
        this.canvas.style.height = height + 'px';
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        const context = this.canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.font = '11px ' + this.palette.sans;
        this.paintStrip(context, strip, width);
        const most = this.mostOfThread(lanes, width);
        lanes.forEach((entry, index) => entry.process === undefined
            ? this.paintLane(context, entry, strip + axis + index * lane, lane, width, most)
            : this.paintProcess(context, entry.process, strip + axis + index * lane, lane, width));
        this.paintAxis(context, strip, width);
        this.paintMarks(context, strip, width);
        this.paintRange(context, width, height);
    }

    x(slot, width) {
        return this.left + slot / this.costs.slots * (width - this.left);
    }

    // How many columns the strip has: no more than pixels, and as many as samples bear.
    columnCount(width) {
        const {slots, samples} = this.costs, room = Math.max(1, Math.floor((width - this.left) / 3));
        return Math.max(1, Math.min(slots, room, Math.max(40, Math.floor(samples / 6))));
    }

    // The mean of the slots in each column.
    columns(values, width) {
        const count = this.columnCount(width), {slots} = this.costs, columns = new Float64Array(count), held = new Uint32Array(count);
        for (let i = 0; i < values.length; i++) {
            const at = Math.min(count - 1, Math.floor(i * count / slots));
            columns[at] += values[i];
            held[at]++;
        }
        return columns.map((sum, at) => sum / held[at]);
    }

    // What the darkest cell of all threads' rows stands for: one processor, or the most that one has.
    mostOfThread(lanes, width) {
        return this.event.clock ? this.slotNs : Math.max(1, ...lanes.map(({values}) => values ? Math.max(...this.columns(values, width)) : 0));
    }

    paintProcess(context, process, y, height, width) {
        const {pid, command, name} = this.data.processes[process], text = `${pid}  ${command || name || '?'}`;
        context.fillStyle = this.palette.ink;
        context.textBaseline = 'middle';
        const most = Math.floor(width / context.measureText('n').width);
        context.fillText(text.length > most ? text.slice(0, most - 1) + '…' : text, 2, y + height / 2);
    }

    paintStrip(context, height, width) {
        const columns = KINDS.map(kind => this.columns(this.costs.perKind[kind], width));
        const count = columns[0].length;
        let most = 0;
        for (let i = 0; i < count; i++)
            most = Math.max(most, columns.reduce((sum, values) => sum + values[i], 0));
        this.paintScale(context, most, width);
        const step = (width - this.left) / count;
        for (let i = 0; i < count; i++) {
            let y = height;
            KINDS.forEach((kind, k) => {
                const h = most ? columns[k][i] / most * (height - 4) : 0;
                if (h <= 0)
                    return;
                context.fillStyle = k < CODE_KINDS ? this.palette.kind(kind, 0.4) : this.palette.state(kind);
                context.fillRect(this.left + i * step, y - h, Math.max(step - (step > 4 ? 1 : 0), 0.6), h);
                y -= h;
            });
        }
        context.fillStyle = this.palette.line;
        context.fillRect(this.left, height - 0.5, width - this.left, 1);
    }

    // What the strip's height stands for: processors or threads at a time, or what else is counted.
    paintScale(context, most, width) {
        if (!most)
            return;
        const text = this.amount(most);
        context.fillStyle = this.palette.muted;
        context.textBaseline = 'top';
        if (this.left > 100)
            context.fillText(text, this.left - context.measureText(text).width - 6, 16);
        context.fillRect(this.left - (this.left ? 4 : 0), 3, this.left ? 4 : width, 0.5);
    }

    amount(value) {
        const {clock, base, name} = this.event;
        if (!clock)
            return `${formatCount(Math.round(value))} ${name}`;
        return `${(value / this.slotNs).toFixed(1)} ${base === 'of CPU time' ? 'CPUs' : 'threads'}`;
    }

    // What the pointer is at.
    hover(event) {
        const {left, width} = this.canvas.getBoundingClientRect(), {slots} = this.costs, count = this.columnCount(width);
        const column = Math.floor(this.slotAt(event) * count / slots);
        const from = Math.ceil(column * slots / count), to = Math.max(from + 1, Math.ceil((column + 1) * slots / count));
        if (this.anchor !== undefined || event.clientX - left < this.left)
            return void (this.tip.hidden = true);
        const digits = this.slotNs < 1e7 ? 3 : this.slotNs < 1e8 ? 2 : 1, at = slot => (slot * this.slotNs / 1e9).toFixed(digits);
        const mean = kind => this.costs.perKind[kind].subarray(from, to).reduce((a, b) => a + b, 0) / (to - from);
        const perKind = Object.fromEntries(KINDS.map(kind => [kind, mean(kind)])), sum = KINDS.reduce((all, kind) => all + perKind[kind], 0);
        this.tip.replaceChildren(element('b', {}, `${at(from)} – ${at(to)} s`), element('span', {}, sum ? this.amount(sum) : 'nothing'),
            ...KINDS.filter(kind => perKind[kind]).map(kind => element('span', {class: 'muted'},
                `${KIND_WORDS[kind]} ${formatPercent(perKind[kind], sum, 0)}`)),
            element('span', {class: 'muted'}, 'drag to select'));
        this.tip.hidden = false;
        const host = this.canvas.parentElement, x = event.clientX - host.getBoundingClientRect().left + 12;
        this.tip.style.left = Math.min(x, host.clientWidth - this.tip.offsetWidth - 4) + 'px';
        this.tip.style.top = STRIP + STRIP_AXIS + 'px';
    }

    paintLane(context, {thread, values}, y, height, width, most) {
        context.fillStyle = this.palette.muted;
        context.textBaseline = 'middle';
        const label = threadTitle(this.data, thread);
        context.fillText(label.length > 24 ? label.slice(0, 23) + '…' : label, 8, y + height / 2);
        const columns = this.columns(values, width), off = this.costs.waits.get(thread), waits = off && this.columns(off, width);
        const step = (width - this.left) / columns.length;
        const paint = (i, value, color) => {
            if (value <= 0)
                return;
            context.globalAlpha = 0.12 + 0.88 * Math.min(1, value / most);
            context.fillStyle = color;
            context.fillRect(this.left + i * step, y + 2, Math.max(step, 0.8), height - 4);
        };
        for (let i = 0; i < columns.length; i++) {
            paint(i, waits ? waits[i] : 0, this.palette.state('wait'));
            paint(i, columns[i] - (waits ? waits[i] : 0), this.palette.accent);
        }
        context.globalAlpha = 1;
    }

    paintAxis(context, y, width) {
        const span = this.costs.slots * this.slotNs, room = Math.max(2, (width - this.left) / 90);
        const unit = niceStep(span / room);
        context.fillStyle = this.palette.muted;
        context.textBaseline = 'top';
        for (let t = 0; t <= span; t += unit) {
            const x = this.x(t / this.slotNs, width);
            const text = formatMoment(t, unit);
            context.fillRect(x, y, 1, 3);
            const w = context.measureText(text).width;
            if (x + 3 + w <= width)
                context.fillText(text, x + 3, y + 3);
        }
    }

    // Where phases with a mark begin, and what the mark says where there is room for it.
    paintMarks(context, height, width) {
        let free = 0;
        context.textBaseline = 'top';
        for (const phase of this.phases) {
            if (!phase.mark)
                continue;
            const x = this.x(phase.from / this.slotNs, width), w = context.measureText(phase.mark).width + 8;
            context.fillStyle = this.palette.mark;
            context.fillRect(x, 0, 1, height);
            if (x < free || x + w > width)
                continue;
            context.globalAlpha = 0.85;
            context.fillStyle = this.palette.paper;
            context.fillRect(x + 1, 0, w, 15);
            context.globalAlpha = 1;
            context.fillStyle = this.palette.mark;
            context.fillText(phase.mark, x + 5, 2);
            free = x + w;
        }
    }

    paintRange(context, width, height) {
        if (!this.range)
            return;
        const from = this.x(this.range[0], width), to = this.x(this.range[1], width);
        context.fillStyle = this.palette.paper;
        context.globalAlpha = 0.68;
        context.fillRect(this.left, 0, from - this.left, height);
        context.fillRect(to, 0, width - to, height);
        context.globalAlpha = 1;
        context.fillStyle = this.palette.accent;
        context.fillRect(from - 1, 0, 2, height);
        context.fillRect(to - 1, 0, 2, height);
    }
}

function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return [1, 2, 5, 10].map(m => m * power).find(step => step >= least);
}

// Seconds from left to right, parts of a second from top to bottom: periodic work shows as stripes.
class HeatMap {
    constructor(host, palette, actions) {
        this.palette = palette;
        this.actions = actions;
        this.canvas = element('canvas', {tabindex: 0, role: 'img', 'aria-label': 'Heat map: arrow keys move, Enter looks at a cell'});
        this.note = element('p', {class: 'muted note'});
        this.said = element('p', {class: 'muted note', 'aria-live': 'polite'});
        host.append(this.note, this.canvas, this.said);
        this.canvas.addEventListener('pointerdown', event => this.start = this.slotAt(event));
        this.canvas.addEventListener('pointermove', event => this.say(this.slotAt(event)));
        this.canvas.addEventListener('pointerup', event => {
            const end = this.slotAt(event);
            if (this.start === undefined || end === undefined)
                return;
            this.actions.range([Math.min(this.start, end), Math.max(this.start, end) + 1]);
            this.start = undefined;
        });
        this.canvas.addEventListener('keydown', event => this.key(event));
        new ResizeObserver(() => this.costs && this.paint()).observe(host);
    }

    show(costs, range, slotNs, event) {
        Object.assign(this, {costs, range, slotNs, event});
        this.perSecond = Math.max(1, Math.round(1e9 / slotNs));
        // Short recordings have columns of less than a second, so that there is more than one.
        for (const part of [10, 5, 2])
            if (this.perSecond % part === 0 && costs.slots <= this.perSecond * 20 && this.perSecond / part >= 10) {
                this.perSecond /= part;
                break;
            }
        this.paint();
    }

    value(slot) {
        return KINDS.reduce((sum, kind) => sum + this.costs.perKind[kind][slot], 0);
    }

    say(slot) {
        const digits = this.slotNs < 1e7 ? 3 : 2, from = slot * this.slotNs / 1e9;
        this.said.textContent = slot === undefined ? '\u00a0'
            : `${from.toFixed(digits)} – ${(from + this.slotNs / 1e9).toFixed(digits)} s: ${this.text(this.value(slot))}`;
    }

    key(event) {
        const step = {ArrowLeft: -this.perSecond, ArrowRight: this.perSecond, ArrowUp: -1, ArrowDown: 1}[event.key];
        if (step)
            this.at = Math.max(0, Math.min(this.costs.slots - 1, (this.at ?? -step) + step));
        else if (event.key === 'Enter' && this.at !== undefined)
            this.actions.range([this.at, this.at + 1]);
        else
            return;
        this.say(this.at);
        this.paint();
        event.preventDefault();
        event.stopPropagation();
    }

    slotAt(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - bounds.left - this.left) / this.cellWidth);
        const row = Math.floor((event.clientY - bounds.top - this.top) / this.cellHeight);
        const slot = column * this.perSecond + row;
        return column >= 0 && row >= 0 && row < this.perSecond && slot < this.costs.slots
            ? slot : undefined;
    }

    paint() {
        const {slots} = this.costs, seconds = Math.ceil(slots / this.perSecond);
        const host = this.canvas.parentElement, width = host.clientWidth;
        const ratio = window.devicePixelRatio || 1;
        this.left = 52;
        this.top = 18;
        this.cellWidth = Math.max(1, Math.min(96, (width - 44 - this.left) / seconds));
        this.cellHeight = Math.max(4, Math.min(60, (host.clientHeight - 110) / this.perSecond));
        const w = this.left + this.cellWidth * seconds, h = this.top + this.cellHeight * this.perSecond;
        this.canvas.style.width = w + 'px';
        this.canvas.style.height = h + 'px';
        this.canvas.width = Math.round(w * ratio);
        this.canvas.height = Math.round(h * ratio);
        const context = this.canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.font = '11px ' + this.palette.sans;
        let most = 0;
        for (let slot = 0; slot < slots; slot++)
            most = Math.max(most, this.value(slot));
        const gap = this.cellWidth > 6 ? 1 : 0;
        for (let slot = 0; slot < slots; slot++) {
            const share = most ? this.value(slot) / most : 0;
            context.fillStyle = this.color(share);
            const outside = this.range && (slot < this.range[0] || slot >= this.range[1]);
            context.globalAlpha = outside ? 0.3 : 1;
            const x = this.left + Math.floor(slot / this.perSecond) * this.cellWidth;
            const y = this.top + slot % this.perSecond * this.cellHeight;
            context.fillRect(x, y, this.cellWidth - gap, this.cellHeight - gap);
            if (slot === this.at) {
                context.strokeStyle = this.palette.ink;
                context.strokeRect(x + 1, y + 1, this.cellWidth - gap - 2, this.cellHeight - gap - 2);
            }
        }
        context.globalAlpha = 1;
        this.paintAxes(context, seconds);
        const steps = [...Array(9).keys()].map(step => element('i', {style: `background:${this.color(step / 8)}`}));
        this.note.replaceChildren(`One column is ${formatSpan(this.perSecond * this.slotNs)}, one row ${formatSpan(this.slotNs)}. ` +
            'Click a cell, or drag from one to another, to look at that time only.',
        element('span', {class: 'heat-scale'}, '0 ', ...steps, ` ${this.text(most)} in a row`));
    }

    // Of a part of the most that a cell has.
    color(share) {
        return this.palette.dark ? `hsl(${32 - 20 * share} ${20 + 70 * share}% ${14 + 48 * share}%)`
            : `hsl(${40 - 26 * share} ${30 + 62 * share}% ${95 - 45 * share}%)`;
    }

    text(value) {
        return this.event.clock ? formatTime(value) : formatCount(Math.round(value));
    }

    paintAxes(context, seconds) {
        context.fillStyle = this.palette.muted;
        context.textBaseline = 'middle';
        const step = niceStep(Math.max(1, 44 / this.cellWidth)), rows = niceStep(Math.max(1, 16 / this.cellHeight));
        for (let second = 0; second < seconds; second += step)
            context.fillText(formatMoment(second * this.perSecond * this.slotNs, step * this.perSecond * this.slotNs), this.left + second * this.cellWidth, 8);
        for (let row = 0; row < this.perSecond; row += rows)
            context.fillText(`${Math.round(row * this.slotNs / 1e6)} ms`, 0, this.top + (row + 0.5) * this.cellHeight);
    }
}
