// Reads a page of `sprof html` with the page's own script, without a browser, and prints what it counts: in each
// mode by function and module, stacks both ways, threads, and a range of time.
//   node page_numbers.js PAGE
const fs = require('fs'), vm = require('vm');

const html = fs.readFileSync(process.argv[2], 'utf8');

function partOf(opening) {
    const from = html.indexOf(opening), to = html.indexOf('</script>', from);
    if (from < 0 || to < 0)
        throw new Error(`the page has no ${opening}`);
    return html.slice(from + opening.length, to);
}

// All of the script but its last statement, which needs a window.
const script = partOf('<script type="module">'), last = script.lastIndexOf('\nloadData().then(');
if (last < 0)
    throw new Error('the script of the page begins in another way than it did');
globalThis.document = {getElementById: id => ({textContent: partOf(`<script type="text/plain" id="${id}">`)})};
const page = vm.runInThisContext(script.slice(0, last) +
    '\n({loadData, readAs, Profile, topDown, bottomUp, recordedMode, commonModes, callersOf, calleesOf})');

function sums(profile, costs, names) {
    return [...names.keys()].filter(i => costs.samples[i] || costs.weight[i]).map(i => ({
        name: names[i], inclusive: costs.samples[i], exclusive: costs.selfSamples[i],
        inclusiveTime: costs.weight[i], exclusiveTime: costs.selfWeight[i]}));
}

function stacks(profile, entry, value, above = []) {
    return entry.children().flatMap(child => {
        const stack = [...above, profile.nameOf(child.function)], own = value(child);
        return [...(own ? [[stack, own]] : []), ...stacks(profile, child, value, stack)];
    });
}

page.loadData().then(data => {
    const [run] = data.runs, everything = {event: data.firstEvent, process: -1, thread: -1, slots: null};
    const read = (mode, selection) => new page.Profile(data, page.readAs(data, mode, null), {...everything, ...selection});
    const functions = profile => sums(profile, profile.functions(), data.functions.names);
    const whole = read(page.recordedMode(run)), range = [Math.floor(run.slots / 4), Math.ceil(run.slots / 2)];
    const modules = sums(whole, whole.modules(), data.modules.map(module => module.name));
    const modes = Object.fromEntries(page.commonModes([run]).map(mode => [mode, functions(read(mode))]));
    const threads = data.threads.map((thread, index) => [thread.tid, read(page.recordedMode(run), {thread: index}).costs.samples[0]]);
    console.log(JSON.stringify({
        pruned: Boolean(data.pruned), modules, modes, threads, differences: data.differences,
        topDown: stacks(whole, page.topDown(whole), entry => entry.selfSamples),
        bottomUp: stacks(whole, page.bottomUp(whole), entry => entry.samples),
        time: range.map(slot => slot * run.slotNs / 1e9),
        // Of each function: what calls it and what it calls, inclusive and exclusive.
        edges: Object.fromEntries(data.functions.names.map((name, fn) => [name, [page.callersOf(whole, fn), page.calleesOf(whole, fn)].map(
            entry => entry.children().map(child => [whole.nameOf(child.function), child.samples, child.selfSamples]))])),
        ofTime: functions(read(page.recordedMode(run), {slots: range})),
    }));
});
