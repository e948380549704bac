// Boxes from left to right in time, one band of them for each thread, callers above callees.

const BAND_ROW = 15, BAND_AXIS = 14;

// A band is {thread, title, boxes, rows}, without a title that of the thread, a box {depth, function, from, to} in the chart's unit of time. `actions`:
// describe(box) gives the elements of its tip, clicked(box), opened(box), range([from, to]) of a
// drag, unitNs(), the chart's unit.
class BandChart {
    constructor(place, app, label, actions) {
        Object.assign(this, {app, actions, bands: [], range: [0, 1]});
        this.canvas = element('canvas', {role: 'img', 'aria-label': label});
        this.tall = element('div', {class: 'flame-tall'}, this.canvas);
        this.scroller = element('div', {class: 'flame-scroller', tabindex: 0}, this.tall);
        this.tip = element('div', {class: 'tip', hidden: true});
        place.append(this.scroller, this.tip);
        this.scroller.addEventListener('scroll', () => this.paint());
        this.canvas.addEventListener('pointerdown', event => this.down(event));
        this.canvas.addEventListener('pointermove', event => this.hover(event));
        this.canvas.addEventListener('pointerup', event => this.up(event));
        this.canvas.addEventListener('pointerleave', () => this.tip.hidden = true);
        const atBox = (name, act) => this.canvas.addEventListener(name, event => {
            const box = this.boxAt(event);
            if (box)
                act(box, event);
        });
        atBox('contextmenu', (box, event) => app.menuOf.open(event, box.function));
        atBox('dblclick', box => actions.opened(box));
        new ResizeObserver(() => this.paint()).observe(this.scroller);
    }

    show(bands, range) {
        let y = 0;
        for (const band of bands) {
            band.y = y;
            y += (band.rows + 1) * BAND_ROW + 8;
        }
        Object.assign(this, {bands, range});
        this.tall.style.height = y + BAND_AXIS + 'px';
        this.paint();
    }

    x(time) {
        return (time - this.range[0]) / (this.range[1] - this.range[0]) * this.scroller.clientWidth;
    }

    timeAt(event) {
        const {left, width} = this.canvas.getBoundingClientRect(), [from, to] = this.range;
        return from + Math.max(0, Math.min(1, (event.clientX - left) / width)) * (to - from);
    }

    paint() {
        const {clientWidth: width, clientHeight: height, scrollTop} = this.scroller, {palette, data} = this.app;
        if (!width || !height)
            return;
        const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext('2d');
        this.canvas.style.height = height + 'px';
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.textBaseline = 'middle';
        for (const band of this.bands) {
            if (band.y - scrollTop > height || band.y + (band.rows + 1) * BAND_ROW < scrollTop)
                continue;
            context.font = '11px ' + palette.sans;
            context.fillStyle = palette.muted;
            context.fillText(band.title || threadTitle(data, band.thread), 2, band.y - scrollTop + BAND_ROW / 2);
            context.font = '11px ' + palette.mono;
            const one = this.charWidth = context.measureText('m').width;
            this.drawn = new Int32Array(band.rows).fill(-9); // in each row, where the last box of less than a pixel is
            for (const box of band.boxes)
                this.paintBox(context, band, box, one, scrollTop, width);
        }
        this.actions.paintOver?.(context, scrollTop);
        this.paintAxis(context, width, height);
        if (this.dragged) {
            const [from, to] = this.dragged.map(time => this.x(time));
            context.globalAlpha = 0.2;
            context.fillStyle = palette.accent;
            context.fillRect(from, 0, to - from, height);
            context.globalAlpha = 1;
        }
    }

    paintBox(context, band, box, one, scrollTop, width) {
        const x = Math.max(-1, this.x(box.from)), w = Math.min(width + 1, this.x(box.to)) - x, y = band.y + (box.depth + 1) * BAND_ROW - scrollTop;
        const {palette, match, profile} = this.app, isFound = match && (box.found || match.hit[box.function]);
        if (w < 1 && this.drawn[box.depth] === Math.floor(x) && !isFound && box !== this.chosen)
            return;
        this.drawn[box.depth] = Math.floor(x);
        if (w < 0 || x > width || y < -BAND_ROW || y > this.scroller.clientHeight)
            return;
        context.globalAlpha = match && !isFound ? 0.35 : 1;
        context.fillStyle = this.actions.colorOf?.(box) || palette.function(box.function);
        const left = Math.round(x), right = Math.round(x + w) - (w > 4 ? 1 : 0); // whole pixels: parts of one are faint
        context.fillRect(left, y, Math.max(1, right - left), BAND_ROW - 1);
        context.globalAlpha = 1;
        if (box === this.chosen) {
            context.strokeStyle = palette.ink;
            context.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 2), BAND_ROW - 2);
        }
        if (w > 30) {
            context.fillStyle = palette.ink;
            context.fillText(cutName(profile.shownOf(box.function), profile.lastOf(box.function), Math.floor((w - 6) / one)), x + 3, y + BAND_ROW / 2);
        }
    }

    paintAxis(context, width, height) {
        const {palette} = this.app, unit = this.actions.unitNs(), [from, to] = this.range.map(time => time * unit), step = niceStep((to - from) / Math.max(2, width / 110));
        context.fillStyle = palette.paper;
        context.fillRect(0, height - BAND_AXIS, width, BAND_AXIS);
        context.font = '11px ' + palette.sans;
        context.fillStyle = palette.muted;
        for (let time = Math.ceil(from / step) * step; time < to; time += step) {
            const x = this.x(time / unit);
            const text = formatMoment(time, step);
            context.fillRect(x, height - BAND_AXIS, 1, 3);
            if (x + 3 + context.measureText(text).width <= width)
                context.fillText(text, x + 3, height - BAND_AXIS / 2 + 1);
        }
    }

    boxAt(event) {
        const bounds = this.canvas.getBoundingClientRect(), x = event.clientX - bounds.left;
        const y = event.clientY - bounds.top + this.scroller.scrollTop;
        const band = this.bands.find(each => y >= each.y + BAND_ROW && y < each.y + (each.rows + 1) * BAND_ROW);
        const depth = band ? Math.floor((y - band.y) / BAND_ROW) - 1 : -1;
        return band?.boxes.find(box => box.depth === depth && x >= this.x(box.from) && x < Math.max(this.x(box.to), this.x(box.from) + 1));
    }

    hover(event) {
        const box = this.boxAt(event);
        if (this.anchor !== undefined) {
            const at = this.timeAt(event);
            if (this.dragged || Math.abs(this.x(at) - this.x(this.anchor)) > 4) {
                this.dragged = [Math.min(at, this.anchor), Math.max(at, this.anchor)];
                this.paint();
            }
        }
        this.tip.hidden = !box || Boolean(this.dragged);
        this.canvas.style.cursor = box ? 'pointer' : 'default';
        if (this.tip.hidden)
            return;
        this.tip.replaceChildren(element('b', {}, this.app.profile.nameOf(box.function)),
            element('span', {class: 'muted'}, moduleName(this.app, box.function)), ...this.actions.describe(box));
        placeTip(this.tip, event, this.scroller);
    }

    down(event) {
        if (event.button !== 0)
            return;
        this.anchor = this.timeAt(event);
        this.canvas.setPointerCapture(event.pointerId);
    }

    up(event) {
        const {dragged, anchor} = this, box = this.boxAt(event);
        this.anchor = this.dragged = undefined;
        if (dragged)
            this.actions.range(dragged);
        else if (box && anchor !== undefined)
            this.actions.clicked(box);
    }
}
