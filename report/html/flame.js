// The flame graph and the icicle: a canvas that draws a lazy tree, widest first, and stops where boxes
// become narrower than a third of a pixel. So neither direction ever builds the whole tree.

const FLAME_ROW = 19, FLAME_LEAST = 0.34;

class FlameGraph {
    constructor(host, palette, actions) {
        this.palette = palette;
        this.actions = actions;
        this.canvas = element('canvas', {tabindex: 0, role: 'img',
            'aria-label': 'Flame graph: arrow keys move, Enter zooms, Escape zooms out'});
        this.scroller = element('div', {class: 'flame-scroller'}, this.canvas);
        this.tip = element('div', {class: 'tip', hidden: true});
        host.append(this.scroller, this.tip);
        this.rootsAtBottom = false;
        this.selected = null;
        this.canvas.addEventListener('mousemove', event => this.hover(event));
        this.canvas.addEventListener('mouseleave', () => this.tip.hidden = true);
        this.canvas.addEventListener('click', event => this.click(event));
        this.canvas.addEventListener('dblclick', event => {
            const box = this.boxAt(event);
            if (box?.entry && box.entry.function >= 0)
                this.actions.openFunction(box.entry.function);
        });
        this.canvas.addEventListener('keydown', event => this.key(event));
        this.scroller.addEventListener('scroll', () => this.rows && this.extend());
        new ResizeObserver(() => this.root && this.layout()).observe(this.scroller);
    }

    show(root, profile, options) {
        this.root = root;
        this.profile = profile;
        Object.assign(this, {match: null, colorOf: null, describe: null}, options);
        const path = this.zoomPath || [];
        this.zoomed = root;
        for (const fn of path) {
            const next = this.zoomed.children().find(child => child.function === fn);
            if (!next)
                break;
            this.zoomed = next;
        }
        this.selected = null;
        this.layout();
    }

    // Boxes of all rows: first the callers of the zoomed entry at full width, then what is below it.
    layout() {
        const width = this.scroller.clientWidth;
        if (!width)
            return;
        this.rows = [];
        const put = (entry, x, w, depth, dim) => {
            const box = {entry, x, w, depth, dim};
            (this.rows[depth] ||= []).push(box);
            return box;
        };
        const chain = [];
        for (let entry = this.zoomed; entry; entry = entry.up)
            chain.unshift(entry);
        chain.forEach((entry, depth) => put(entry, 0, width, depth, entry !== this.zoomed));
        this.scale = this.zoomed.value ? width / this.zoomed.value : 0;
        this.level = [{entry: this.zoomed, x: 0}];
        this.extend();
        if (this.rootsAtBottom)
            this.scroller.scrollTop = this.scroller.scrollHeight;
    }

    // Lays out rows down to a screen below what is in sight; what is deeper follows when it is
    // scrolled to. A flame graph stands on its last row, so all of it is needed at once.
    extend() {
        const {scrollTop, clientHeight} = this.scroller;
        const most = this.rootsAtBottom ? Infinity : (scrollTop + 2 * clientHeight) / FLAME_ROW;
        for (let depth = this.rows.length; this.level.length && depth < most; depth++) {
            const below = [], row = [];
            for (const {entry, x} of this.level) {
                let at = x;
                const kids = entry.children();
                for (let i = 0; i < kids.length; i++) {
                    const child = kids[i], w = child.value * this.scale;
                    if (w < FLAME_LEAST) {
                        this.putRest(row, kids, i, at, depth);
                        break;
                    }
                    row.push({entry: child, x: at, w, depth, dim: false});
                    below.push({entry: child, x: at});
                    at += w;
                }
            }
            if (row.length)
                this.rows.push(row);
            this.level = below;
        }
        this.height = this.rows.length * FLAME_ROW + 8;
        this.paint();
    }

    // What is too narrow for boxes of its own is one box of all of it.
    putRest(row, kids, from, x, depth) {
        let value = 0;
        for (let i = from; i < kids.length; i++)
            value += kids[i].value;
        if (value * this.scale >= 1)
            row.push({rest: kids.length - from, value, x, w: value * this.scale, depth});
    }

    y(depth) {
        const height = Math.max(this.height, this.scroller.clientHeight);
        return this.rootsAtBottom ? height - (depth + 1) * FLAME_ROW - 4 : depth * FLAME_ROW + 4;
    }

    // Only the visible part is drawn; the canvas is as tall as the window, not as the stacks.
    paint() {
        if (!this.rows)
            return;
        const width = this.scroller.clientWidth;
        const height = Math.max(this.height, this.scroller.clientHeight);
        const ratio = window.devicePixelRatio || 1;
        const shown = Math.min(height, 16000);
        this.canvas.style.height = shown + 'px';
        if (this.canvas.width !== Math.round(width * ratio) ||
            this.canvas.height !== Math.round(shown * ratio)) {
            this.canvas.width = Math.round(width * ratio);
            this.canvas.height = Math.round(shown * ratio);
        }
        const context = this.canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        const top = this.scroller.scrollTop, bottom = top + this.scroller.clientHeight;
        context.clearRect(0, top, width, bottom - top);
        context.font = '12px ' + getComputedStyle(document.body).getPropertyValue('--mono');
        context.textBaseline = 'middle';
        for (let depth = 0; depth < this.rows.length; depth++) {
            const y = this.y(depth);
            if (y + FLAME_ROW < top || y > bottom)
                continue;
            for (const box of this.rows[depth])
                this.paintBox(context, box, y);
        }
    }

    paintRest(context, {x, w, rest}, y) {
        context.globalAlpha = 0.55;
        context.fillStyle = this.palette.line;
        context.fillRect(x, y, w - (w > 3 ? 1 : 0), FLAME_ROW - 1);
        context.globalAlpha = 1;
        if (w > 70) {
            context.fillStyle = this.palette.muted;
            context.fillText(this.fit(context, `${formatCount(rest)} smaller`, w - 9), x + 4, y + FLAME_ROW / 2);
        }
    }

    paintBox(context, box, y) {
        if (box.rest)
            return this.paintRest(context, box, y);
        const {entry, x, w} = box, hit = this.match && entry.function >= 0 &&
            this.match.hit[entry.function];
        context.globalAlpha = box.dim ? 0.45 : this.match && !hit ? 0.35 : 1;
        context.fillStyle = this.colorOf ? this.colorOf(entry)
                                         : this.palette.function(entry.function);
        const gap = w > 3 ? 1 : 0;
        context.fillRect(x, y, w - gap, FLAME_ROW - 1);
        context.globalAlpha = 1;
        if (hit) {
            context.fillStyle = this.palette.mark;
            context.fillRect(x, y + FLAME_ROW - 4, w - gap, 3);
        }
        if (entry === this.selected) {
            context.strokeStyle = this.palette.ink;
            context.lineWidth = 2;
            context.strokeRect(x + 1, y + 1, Math.max(1, w - gap - 2), FLAME_ROW - 3);
        }
        if (w > 26) {
            context.fillStyle = this.palette.ink;
            context.globalAlpha = box.dim ? 0.7 : 1;
            context.fillText(this.fit(context, this.label(entry), w - 9), x + 4, y + FLAME_ROW / 2);
            context.globalAlpha = 1;
        }
    }

    label(entry) {
        return entry.function < 0 ? 'all' : this.profile.nameOf(entry.function);
    }

    fit(context, text, width) {
        const one = this.charWidth ||= context.measureText('m').width;
        const most = Math.floor(width / one);
        if (text.length > most)
            text = /\+(0x[0-9a-f]+)$/.exec(text)?.[1] ?? shortName(text);
        if (text.length <= most)
            return text;
        return most < 3 ? '' : text.slice(0, most - 1) + '…';
    }

    boxAt(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
        const height = Math.max(this.height, this.scroller.clientHeight);
        const depth = this.rootsAtBottom ? Math.floor((height - y - 4) / FLAME_ROW)
                                         : Math.floor((y - 4) / FLAME_ROW);
        return (this.rows[depth] || []).find(box => x >= box.x && x < box.x + box.w);
    }

    hover(event) {
        const box = this.boxAt(event);
        this.canvas.style.cursor = box ? 'pointer' : 'default';
        this.tip.hidden = !box;
        if (!box)
            return;
        this.tip.replaceChildren(...(box.rest ? this.describeRest(box)
                                              : (this.describe || describeEntry)(this.profile, box.entry)));
        const bounds = this.scroller.getBoundingClientRect();
        const left = event.clientX - bounds.left + 14, top = event.clientY - bounds.top + 18;
        this.tip.style.left = Math.min(left, bounds.width - this.tip.offsetWidth - 8) + 'px';
        this.tip.style.top = (top + this.tip.offsetHeight > bounds.height
            ? top - this.tip.offsetHeight - 26 : top) + 'px';
    }

    describeRest(box) {
        return [element('b', {}, `${formatCount(box.rest)} too narrow to draw`),
                element('span', {}, `${formatPercent(box.value, this.profile.total, this.profile.costs.samples[0])} ` +
                    'in all · zoom in on what is above them to see them')];
    }

    click(event) {
        const box = this.boxAt(event);
        if (box && box.entry)
            this.zoom(box.entry);
    }

    zoom(entry) {
        this.zoomed = entry;
        this.selected = entry;
        this.zoomPath = pathOf(entry);
        this.layout();
        if (!this.rootsAtBottom)
            this.scroller.scrollTop = Math.max(0, (entry.depth - 4) * FLAME_ROW);
        this.actions.zoomed(this.zoomPath);
    }

    reset() {
        this.zoomPath = [];
        this.zoom(this.root);
    }

    select(entry) {
        if (!entry)
            return;
        this.selected = entry;
        this.paint();
        const y = this.y(entry.depth), {scrollTop, clientHeight} = this.scroller;
        if (y < scrollTop || y + FLAME_ROW > scrollTop + clientHeight)
            this.scroller.scrollTop = y - clientHeight / 2;
        this.actions.said(describeEntry(this.profile, entry).map(e => e.textContent).join(', '));
    }

    key(event) {
        const now = this.selected || this.zoomed, kids = now.children();
        const siblings = now.up ? now.up.children() : [now];
        const at = siblings.indexOf(now);
        const outward = this.rootsAtBottom ? 'ArrowDown' : 'ArrowUp';
        const inward = this.rootsAtBottom ? 'ArrowUp' : 'ArrowDown';
        if (event.key === outward)
            this.select(now.up);
        else if (event.key === inward)
            this.select(kids[0]);
        else if (event.key === 'ArrowLeft')
            this.select(siblings[at - 1]);
        else if (event.key === 'ArrowRight')
            this.select(siblings[at + 1]);
        else if (event.key === 'Enter')
            this.zoom(now);
        else if (event.key === 'Escape')
            this.reset();
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}

function pathOf(entry) {
    const path = [];
    for (; entry && entry.up; entry = entry.up)
        path.unshift(entry.function);
    return path;
}

// What the pointer shows of an entry, line by line.
function describeEntry(profile, entry) {
    const {data} = profile, samples = profile.costs.samples[0];
    const lines = [];
    if (entry.function < 0) {
        lines.push(element('b', {}, 'all selected samples'));
    } else {
        const {functions, modules, files} = data, fn = entry.function;
        lines.push(element('b', {}, profile.nameOf(fn)));
        const file = files[functions.file[fn]];
        lines.push(element('span', {class: 'muted'}, modules[functions.module[fn]].name +
            (functions.flags[fn] & FLAG_INLINED ? ' · inlined' : '') +
            (file ? ` · ${file}:${functions.line[fn]}` : '')));
    }
    const time = profile.isClock ? ` · ${formatTime(entry.weight)}` : '';
    lines.push(element('span', {}, `${formatPercent(entry.value, profile.total, samples)} · ` +
        `${formatCount(entry.samples)} samples${time}`));
    if (entry.self)
        lines.push(element('span', {}, `itself ${formatPercent(entry.self, profile.total, samples)}` +
            ` · ${formatCount(entry.selfSamples)} samples`));
    return lines;
}
