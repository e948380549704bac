// Unpacks what the page carries: a JSON header, and columns of whole numbers. Both are base64 of raw
// deflate; a column is LEB128, signed columns are zigzag-coded differences to the value before.

async function inflate(id) {
    const text = document.getElementById(id).textContent.trim();
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads one column after the other. Values up to 2^53 are exact.
class ColumnReader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    number() {
        const bytes = this.bytes;
        let byte = bytes[this.at++];
        if (byte < 128)
            return byte;
        let value = byte & 127, scale = 128;
        do {
            byte = bytes[this.at++];
            value += (byte & 127) * scale;
            scale *= 128;
        } while (byte >= 128);
        return value;
    }

    plain(array) {
        for (let i = 0; i < array.length; i++)
            array[i] = this.number();
        return array;
    }

    differences(array) {
        let last = 0;
        for (let i = 0; i < array.length; i++) {
            const coded = this.number();
            last += coded % 2 ? -(coded + 1) / 2 : coded / 2;
            array[i] = last;
        }
        return array;
    }
}

// The order of the columns is the order in which the recorder's side writes them.
async function loadData() {
    const header = JSON.parse(new TextDecoder().decode(await inflate('sprof-header')));
    const reader = new ColumnReader(await inflate('sprof-columns'));
    const {functions, nodes, cells} = header.counts;
    const data = {...header, notSampled: new Set(header.notSampledFunctions)};
    data.events = header.runs.flatMap(run => run.events);
    addSums(data);
    addSides(data);
    data.waits = new Map(header.waits.map(each => [each.run, each]));
    data.processes = header.runs.flatMap((run, index) => run.processes.map(process => ({...process, run: index})));
    data.threads = header.runs.flatMap(run => run.threads);
    data.functions = {
        count: functions,
        names: header.functionNames.filter((name, i) => i % 2 === 0),
        short: header.functionNames.filter((name, i) => i % 2),
        module: reader.plain(new Uint32Array(functions)),
        file: reader.plain(new Uint32Array(functions)),   // index into files, 0: unknown
        line: reader.plain(new Uint32Array(functions)),
        flags: reader.plain(new Uint8Array(functions)),
        lastOfFull: reader.plain(new Uint32Array(functions)),  // where the last component begins
        lastOfShort: reader.plain(new Uint32Array(functions)),
        start: new Map(header.functionStarts),  // in the module's file, in hexadecimal, of functions that look alike
    };
    data.functions.short.forEach((name, fn, short) => short[fn] = name || data.functions.names[fn]);
    chooseNames(data, false);
    data.nodes = {
        count: nodes,
        parent: reader.plain(new Uint32Array(nodes)),     // id − parent's id, 0: a root
        function: reader.differences(new Int32Array(nodes)),
    };
    for (let i = 0; i < nodes; i++)
        data.nodes.parent[i] = data.nodes.parent[i] ? i - data.nodes.parent[i] + 1 : 0;
    data.hasCallers = data.nodes.parent.some(parent => parent > 0);
    data.callTotals = new Map(header.callTotals.map(calls => [calls.event,
        {...calls, figures: new Map(calls.figures.map(([fn, average, p50, p99, most, outside, stack, heapSelf, heapTotal, blocks]) =>
            [fn, {average, p50, p99, most, outside, stack, heapSelf, heapTotal, blocks}]))}]));
    data.coverage = new Map(header.coverage.map(each => [each.run, {...each, rows: each.rows.map(([name, full, module, first, file, line, last, lastOfFull]) => (
        {name, full: full ?? name, module, first, file, line, last, lastOfFull}))}]));
    data.cells = {
        count: cells,
        lane: reader.differences(new Int32Array(cells)),
        slot: reader.differences(new Int32Array(cells)),
        node: reader.differences(new Int32Array(cells)),
        samples: reader.plain(new Float64Array(cells)),
        weight: reader.plain(new Float64Array(cells)),
    };
    data.singleCalls = new Map(header.singleCalls.map(each => [each.run, {...each, calls: readCalls(reader, each.count)}]));
    data.drills = new Map(header.drills.map(each => [each.run, each]));
    startWithWaits(data);
    return data;
}

// Calls that were logged or kept one by one, by thread and start.
function readCalls(reader, count) {
    return {
        start: reader.differences(new Float64Array(count)),
        thread: reader.plain(new Uint32Array(count)),
        function: reader.plain(new Uint32Array(count)),
        caller: reader.plain(new Uint32Array(count)),     // index + 1, 0: none that is here
        exit: reader.plain(new Uint32Array(count)),       // index of a text + 1
        why: reader.plain(new Uint32Array(count)),
        arguments: reader.plain(new Uint32Array(count)),
        result: reader.plain(new Uint32Array(count)),
        beside: reader.plain(new Uint32Array(count)),
        request: reader.plain(new Uint32Array(count)),    // index of a text + 1
        duration: reader.plain(new Float64Array(count)),  // 0: it did not end
        self: reader.plain(new Float64Array(count)),
        waiting: reader.plain(new Float64Array(count)),   // + 1, 0: not known
        ready: reader.plain(new Float64Array(count)),     // … without a CPU
    };
}

const FLAG_STARTUP = 1, FLAG_INLINED = 2, FLAG_UNNAMED = 4;
const APP_KINDS = new Set(['app', 'jit']);
