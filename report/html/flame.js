// The flame graph and the icicle: a canvas that draws a lazy tree, widest first, and stops where boxes
// become narrower than half a pixel. So neither direction ever builds the whole tree. Rows are laid
// out for some milliseconds at a time: however large the profile, the first rows are there at once.

const FLAME_ROW = 19, FLAME_LEAST = 0.5, FLAME_BUDGET_MS = 12;

class FlameGraph {
    constructor(host, palette, actions) {
        this.palette = palette;
        this.actions = actions;
        this.canvas = element('canvas', {tabindex: 0, role: 'img',
            'aria-label': 'Flame graph: arrow keys move, Enter zooms, Escape zooms out'});
        this.tall = element('div', {class: 'flame-tall'}, this.canvas);
        this.scroller = element('div', {class: 'flame-scroller'}, this.tall);
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
        this.canvas.addEventListener('contextmenu', event => {
            const entry = this.boxAt(event)?.entry || (event.button !== 2 && this.selected);
            if (entry)
                this.actions.menu?.(event, entry);
        });
        this.canvas.addEventListener('keydown', event => this.key(event));
        this.canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
        this.scroller.addEventListener('scroll', () => this.rows && this.soon());
        new ResizeObserver(() => {
            if (this.root)
                this.scroller.clientWidth === this.laidOutFor ? this.extend(true) : this.layout();
        }).observe(this.scroller);
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
        this.laidOutFor = width;
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
        this.next = null;
        if (!this.rootsAtBottom)
            this.scroller.scrollTop = Math.max(0, (this.zoomed.depth - 4) * FLAME_ROW);
        this.extend(true);
        if (this.rootsAtBottom)
            this.scroller.scrollTop = this.scroller.scrollHeight;
    }

    soon() {
        this.waiting ||= requestAnimationFrame(() => {
            this.waiting = 0;
            this.extend();
        });
    }

    // Lays out rows down to a screen below what is in sight; what is deeper follows when it is scrolled
    // to. A flame graph stands on its last row, so all of it is needed; what takes long goes on later, and
    // is painted when some of it is in sight.
    extend(paint) {
        const {scrollTop, clientHeight} = this.scroller, end = performance.now() + FLAME_BUDGET_MS;
        const known = this.rows.length;
        const most = this.rootsAtBottom ? Infinity : (scrollTop + 2 * clientHeight) / FLAME_ROW;
        while (this.level.length && this.rows.length < most && performance.now() < end)
            this.layRow(end);
        const fromEnd = this.scroller.scrollHeight - scrollTop;
        this.height = this.rows.length * FLAME_ROW + 8;
        this.tall.style.height = this.height + 'px';
        if (this.rootsAtBottom)
            this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
        const y = this.y(known), inSight = y < clientHeight && y + FLAME_ROW > 0;
        if (paint || this.scroller.scrollTop !== this.paintedAt || this.rows.length > known && inSight)
            this.paint();
        if (this.level.length && this.rows.length < most)
            this.soon();
    }

    // One row, or a part of it when there is no time for more.
    layRow(end) {
        this.next ||= {row: [], below: [], at: 0};
        const {row, below} = this.next, depth = this.rows.length;
        for (; this.next.at < this.level.length; this.next.at++) {
            if (this.next.at % 64 === 63 && performance.now() > end)
                return;
            const {entry, x} = this.level[this.next.at], kids = entry.children();
            let at = x;
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
        this.next = null;
    }

    // What is too narrow for boxes of its own is one box of all of it.
    putRest(row, kids, from, x, depth) {
        let value = 0;
        for (let i = from; i < kids.length; i++)
            value += kids[i].value;
        if (value * this.scale >= 1)
            row.push({rest: kids.length - from, value, x, w: value * this.scale, depth});
    }

    // Where a row stands in the canvas.
    y(depth) {
        const {scrollTop, clientHeight} = this.scroller, height = Math.max(this.height, clientHeight);
        return (this.rootsAtBottom ? height - (depth + 1) * FLAME_ROW - 4 : depth * FLAME_ROW + 4) - scrollTop;
    }

    // The canvas is as large as what is in sight, and stays there when the stacks are scrolled.
    paint() {
        const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
        if (!this.rows || !height)
            return;
        this.paintedAt = this.scroller.scrollTop;
        const ratio = window.devicePixelRatio || 1;
        const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
        if (this.canvas.width !== pixels[0] || this.canvas.height !== pixels[1]) {
            this.canvas.style.height = height + 'px';
            [this.canvas.width, this.canvas.height] = pixels;
        }
        const context = this.canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = '12px ' + this.palette.mono;
        context.textBaseline = 'middle';
        for (let depth = 0; depth < this.rows.length; depth++) {
            const y = this.y(depth);
            if (y + FLAME_ROW < 0 || y > height)
                continue;
            // Boxes begin and end at pixels; one that covers none is drawn only when it is a match.
            for (const box of this.rows[depth]) {
                const x = Math.round(box.x * ratio) / ratio, hit = this.isHit(box.entry);
                const w = Math.max(Math.round((box.x + box.w) * ratio) / ratio - x, hit ? 1 : 0);
                if (w)
                    this.paintBox(context, box, {x, y, w, hit});
            }
        }
    }

    isHit(entry) {
        return this.match && entry && entry.function >= 0 && this.match.hit[entry.function];
    }

    paintRest(context, rest, {x, y, w}) {
        context.globalAlpha = 0.55;
        context.fillStyle = this.palette.line;
        context.fillRect(x, y, w - (w > 3 ? 1 : 0), FLAME_ROW - 1);
        context.globalAlpha = 1;
        if (w > 70) {
            context.fillStyle = this.palette.muted;
            context.fillText(this.fit(context, `${formatCount(rest)} smaller`, w - 9), x + 4, y + FLAME_ROW / 2);
        }
    }

    paintBox(context, {entry, rest, dim}, place) {
        if (rest)
            return this.paintRest(context, rest, place);
        const {x, y, w, hit} = place, gap = w > 3 ? 1 : 0;
        context.globalAlpha = dim ? 0.45 : this.match && !hit ? 0.35 : 1;
        context.fillStyle = this.colorOf ? this.colorOf(entry) : this.palette.function(entry.function);
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
            context.globalAlpha = dim ? 0.7 : 1;
            context.fillText(this.fit(context, this.label(entry), w - 9, this.lastOf(entry)), x + 4, y + FLAME_ROW / 2);
            context.globalAlpha = 1;
        }
    }

    label(entry) {
        if (entry.function >= 0)
            return this.profile.shownOf(entry.function);
        return entry.weight === undefined ? 'all' // of two sides
            : `all: ${this.profile.isClock ? formatTime(entry.weight) : `${formatCount(entry.samples)} ${this.profile.unit}`}`;
    }

    lastOf(entry) {
        return entry.function < 0 ? 0 : this.profile.lastOf(entry.function);
    }

    fit(context, text, width, last = 0) {
        const one = this.charWidth ||= context.measureText('m').width;
        const most = Math.floor(width / one);
        if (text.length <= most)
            return text;
        const address = /\+(0x[0-9a-f]+)$/.exec(text)?.[1];
        return address ? cutName(address, 0, most) : cutName(text, last, most);
    }

    boxAt(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
        const first = this.y(0);
        const depth = this.rootsAtBottom ? Math.ceil((first - y) / FLAME_ROW) : Math.floor((y - first) / FLAME_ROW);
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
        placeTip(this.tip, event, this.scroller);
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
        this.tip.hidden = true;
        this.zoomed = entry;
        this.selected = entry;
        this.zoomPath = pathOf(entry);
        this.layout();
        this.actions.zoomed(this.zoomPath);
    }

    // One step towards what is below the pointer, or one step out.
    wheel(event) {
        if (!event.ctrlKey || !event.deltaY)
            return;
        event.preventDefault();
        let next = event.deltaY > 0 ? this.zoomed.up : this.boxAt(event)?.entry;
        if (event.deltaY < 0)
            while (next && next.up !== this.zoomed)
                next = next.up;
        if (next)
            this.zoom(next);
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
        const y = this.y(entry.depth), {clientHeight} = this.scroller;
        if (y < 0 || y + FLAME_ROW > clientHeight)
            this.scroller.scrollTop += y - clientHeight / 2;
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

// Beside the pointer, inside of what scrolls.
function placeTip(tip, event, scroller) {
    const bounds = scroller.getBoundingClientRect();
    const left = event.clientX - bounds.left + 14, top = event.clientY - bounds.top + 18;
    tip.style.left = Math.max(0, Math.min(left, bounds.width - tip.offsetWidth - 8)) + 'px';
    tip.style.top = (top + tip.offsetHeight > bounds.height ? top - tip.offsetHeight - 26 : top) + 'px';
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
        lines.push(element('b', {}, 'everything selected'));
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
        `${formatCount(entry.samples)} ${profile.unit}${time}`));
    if (entry.self)
        lines.push(element('span', {}, `self ${formatPercent(entry.self, profile.total, samples)}` +
            ` · ${formatCount(entry.selfSamples)} ${profile.unit}`));
    return lines;
}
