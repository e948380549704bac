// What the page's own script finds and draws of a recording, without a browser: the cost of the samples that a search matches,
// and the cells of the heat map.
//   node page.js PAGE SEARCH…
const fs = require('fs'), vm = require('vm');

const html = fs.readFileSync(process.argv[2], 'utf8'), searches = process.argv.slice(3);

function partOf(opening) {
    const from = html.indexOf(opening), to = html.indexOf('</script>', from);
    if (from < 0 || to < 0)
        throw new Error(`the page has no ${opening}`);
    return html.slice(from + opening.length, to);
}

// All of the script but its last statement, which needs a window.
const script = partOf('<script type="module">'), last = script.lastIndexOf('\nloadData().then(');
globalThis.document = {getElementById: id => ({textContent: partOf(`<script type="text/plain" id="${id}">`)}),
    createElement: () => ({setAttribute() {}, append() {}})};
globalThis.window = {devicePixelRatio: 1};
const page = vm.runInThisContext(script.slice(0, last) +
    '\n({loadData, readAs, recordedMode, Profile, sourceOf, sourceRows, FunctionSearch, matchedValue, slotCosts, HeatMap})');

// A heat map on a canvas that remembers its filled cells; each is asked for the slot under its middle, too.
function heatMapOf(costs, slotNs) {
    const cells = [];
    const context = {setTransform() {}, fillText() {}, fillRect(x, y, w, h) { cells.push({x, y, w, h, style: this.fillStyle}); }};
    const canvas = {parentElement: {clientWidth: 1000, clientHeight: 700}, style: {}, getContext: () => context, getBoundingClientRect: () => ({left: 0, top: 0})};
    const map = Object.assign(Object.create(page.HeatMap.prototype),
        {canvas, palette: {sans: '', muted: '', dark: false}, note: {replaceChildren() {}}, said: {}, costs, slotNs, range: null, event: {clock: true},
            perSecond: Math.max(1, Math.round(1e9 / slotNs))});
    map.paint();
    // Lightness says how busy a cell is: 95 % of an idle one.
    return cells.map(cell => {
        const slot = map.slotAt({clientX: cell.x + cell.w / 2, clientY: cell.y + cell.h / 2});
        map.say(slot);
        return {column: Math.floor((cell.x - map.left) / map.cellWidth + 0.5), row: Math.round((cell.y - map.top) / map.cellHeight),
            lightness: +/([\d.]+)%\)$/.exec(cell.style)[1], slot, said: map.said.textContent};
    });
}

page.loadData().then(data => {
    const [run] = data.runs, everything = {event: data.firstEvent, process: -1, thread: -1, slots: null};
    const view = page.readAs(data, page.recordedMode(run), null), profile = new page.Profile(data, view, everything);
    const found = {};
    for (const text of searches)
        new page.FunctionSearch(data).find(text, match => found[text] = page.matchedValue(profile, match));
    const costs = page.slotCosts(data, everything, view);
    const source = page.sourceOf(data, data.firstEvent);
    const lines = source ? source.source.functions.flatMap((_, i) => page.sourceRows(data, page.sourceOf(data, data.firstEvent), source.functions[i]))
        .filter(row => row.line && row.totalSamples).map(row => [source.source.files[row.file - 1].path, row.line, row.text]) : [];
    console.log(JSON.stringify({lines, total: profile.total, found, slotNs: run.slotNs, cells: heatMapOf(costs, run.slotNs)}));
});
