// The way of a drill-down: which functions got probes when, below which, and where it ended.

const DRILL_SIDE = 3; // functions of a step that are shown beside those on the way
const MARK_NAME_BYTES = 200; // of a name in a mark, at most (trace/drill/answer.c)

// A function's name as marks have it; a character that the end cuts in two is left out.
function markName(name) {
    const bytes = new TextEncoder().encode(name);
    return bytes.length < MARK_NAME_BYTES ? name : new TextDecoder().decode(bytes.subarray(0, MARK_NAME_BYTES)).replace(/\uFFFD+$/, '');
}

// The steps of a run in the order of time, each with its probes; the first has those of the roots.
function drillSteps({steps, probes}, endNs) {
    const groups = [{start: 0, kind: 'root', at: '', probes: []}, ...steps.map(([start, mark]) => {
        const [, at] = mark.match(/^step \d+: below (.*)$/s) || [], [, culprit] = mark.match(/^culprit: (.*)$/s) || [];
        return {start, mark, kind: at !== undefined ? 'step' : culprit !== undefined ? 'culprit' : 'ended', at: markName(at ?? culprit ?? ''), probes: []};
    })];
    const first = Math.min(...probes.map(probe => probe[2]));
    for (const [name, fn, from, gone, calls, total, self] of probes) {
        const probe = {name, fn, from, to: gone ?? endNs, gone, calls: calls || 0, total: total || 0, self: self || 0};
        const group = from === first ? groups[0] : groups.find(each => each.kind === 'step' && each.start >= from) || groups[groups.length - 1];
        group.probes.push(probe);
    }
    // On the way is what a step was below, the culprit, and what had as much of the time as one of these later.
    const named = new Set(groups.map(group => group.at)), targets = groups.flatMap((group, step) =>
        group.probes.filter(probe => named.has(markName(probe.name))).map(probe => ({step, total: probe.total})));
    groups.forEach((group, step) => group.probes.forEach(probe => {
        probe.isOnWay = named.has(markName(probe.name)) || targets.some(target => target.step >= step && target.total && probe.total >= target.total);
    }));
    for (const group of groups)
        group.probes.sort((a, b) => b.isOnWay - a.isOnWay || b.total - a.total || a.from - b.from);
    return groups.filter(group => group.kind !== 'root' || group.probes.length);
}

class DrillView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        this.scroll = element('div', {class: 'scroll'});
        host.append(this.line, this.scroll);
        this.open = new Set();
    }

    draw(app) {
        const drill = app.drill(), run = app.run();
        this.groups = drillSteps(drill, run.durationNs);
        this.span = [Math.min(...drill.probes.map(probe => probe[2]), drill.steps[0][0]), run.durationNs];
        const culprits = this.groups.filter(group => group.kind === 'culprit'), steps = this.groups.filter(group => group.kind === 'step').length;
        const probes = this.groups.flatMap(group => group.probes), words = ({at}, i) => {
            const found = probes.find(probe => markName(probe.name) === at);
            return [i ? '; ' : 'culprit: ', element('b', {}, found ? found.name : at),
                found ? `, itself ${formatPercent(found.self, found.total, 0)} of its ${formatTime(found.total)}` : ''];
        };
        this.line.replaceChildren(element('span', {}, ...culprits.length ? culprits.flatMap(words) : ['no culprit was named']),
        element('span', {class: 'muted'}, `${formatCount(steps)} step${steps === 1 ? '' : 's'} · ${formatCount(drill.probes.length)} probes · ${
            drillTime(this.span[0])} – ${drillTime(this.span[1])}`),
        element('span', {class: 'legend'}, ...[['way', 'on the way'], ['side', 'ruled out or small'], ['none', 'not called']].map(([kind, text]) =>
            element('span', {}, element('i', {class: `drill-${kind}`}), text))));
        this.scroll.replaceChildren(element('div', {class: 'drill'}, ...this.groups.flatMap((group, step) => this.rows(app, group, step))));
    }

    // A step: what it did, the functions on the way, and some of the others.
    rows(app, group, step) {
        const {probes, kind, at, start} = group, way = probes.filter(probe => probe.isOnWay).length;
        const most = this.open.has(step) ? probes.length : Math.max(way, Math.min(probes.length, way + DRILL_SIDE)), left = probes.length - most;
        const gone = probes.filter(probe => probe.gone !== null).length, count = `${formatCount(probes.length)} probe${probes.length === 1 ? '' : 's'}`;
        const title = kind === 'root' ? [element('b', {}, 'at first'), ` ${count}`] : kind === 'step'
            ? [element('b', {}, group.mark.replace(/:.*$/s, '')), ` below ${at} · ${count}${gone ? `, ${formatCount(gone)} of them out later` : ''}`]
            : [element('b', {}, group.mark)];
        return [element('div', {class: `drill-step drill-${kind}-step`}, ...title, element('span', {class: 'muted'}, kind === 'root' ? '' : drillTime(start))),
            ...probes.slice(0, most).map(probe => this.row(app, probe)),
            ...(left > 0 || this.open.has(step) && probes.length > way + DRILL_SIDE ? [element('button', {class: 'quiet drill-more', onclick: () => {
                this.open.has(step) ? this.open.delete(step) : this.open.add(step);
                this.draw(app);
            }}, left > 0 ? `… ${formatCount(left)} more` : 'fewer')] : [])];
    }

    row(app, probe) {
        const {fn, name, calls, total, self} = probe, place = ns => `${(100 * (ns - this.span[0]) / Math.max(1, this.span[1] - this.span[0])).toFixed(2)}%`;
        const kind = probe.isOnWay ? 'way' : calls ? 'side' : 'none', ends = this.groups.filter(group => group.kind !== 'root');
        const figures = calls && total ? `${formatTime(total / calls)} a call` : calls ? `${formatCount(calls)} calls` : 'not called';
        const tip = `${name}: probe from ${drillTime(probe.from)} to ${drillTime(probe.to)}${probe.gone === null ? '' : ', then out'}; ${formatCount(calls)} call${
            calls === 1 ? '' : 's'}${total ? `, ${formatTime(total)}, itself ${formatPercent(self, total, 0)}` : ''}`;
        return element('div', {class: `drill-row drill-is-${kind}`, title: tip},
            element('span', {class: 'name'}, fn === null ? element('span', {class: 'cut'}, name)
                : element('button', {onclick: () => app.openFunction(fn)}, functionName(app, fn))),
            element('span', {class: 'drill-lane'}, ...ends.map(group => element('i', {class: 'drill-mark', style: `left:${place(group.start)}`})),
                element('i', {class: `drill-bar drill-${kind}`, style: `left:${place(probe.from)};right:calc(100% - ${place(probe.to)})`})),
            element('span', {class: 'number'}, figures));
    }
}

// Since the start of the run: steps are tenths of a second apart.
function drillTime(ns) {
    return (ns / 1e9).toFixed(2) + ' s';
}
