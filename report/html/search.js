// Which functions a text names, and which functions of two builds are one.

const SEARCH_LIMIT_MS = 2000;

// What a text looks for: a part of the name, case ignored, or between slashes a regular expression.
function searched(text) {
    const pattern = /^\/(.*?)\/?$/.exec(text);
    return pattern ? {pattern: pattern[1]} : {part: text.toLowerCase()};
}

// Runs in a worker of its own: it has names once, then patterns, and answers each with the matches.
function answerPatterns() {
    let names, short;
    onmessage = ({data}) => {
        if (data.names)
            return void ({names, short} = data);
        const expression = new RegExp(data.pattern, 'i');
        postMessage({begun: true});
        postMessage({hit: Uint8Array.from(names, (name, i) => expression.test(name) || expression.test(short[i]) ? 1 : 0)});
    };
}

// Finds the functions that a text names, by their full names or their short ones. A regular expression may take longer than anybody waits, and a
// page that evaluates one can do nothing else: a worker does it, which is ended after two seconds.
class FunctionSearch {
    constructor(data) {
        this.data = data;
    }

    // Calls `found` with {hit: one byte per function}, {} where nothing is looked for, or {problem, why}:
    // at once, or, of a regular expression, later, unless something else was looked for meanwhile.
    find(text, found) {
        const {part, pattern} = searched(text);
        this.cancel();
        if (!text)
            return found({});
        const {names, short} = this.data.functions, holds = name => name.toLowerCase().includes(part);
        if (pattern === undefined)
            return found({hit: Uint8Array.from(names, (name, fn) => holds(name) || holds(short[fn]) ? 1 : 0)});
        try {
            new RegExp(pattern, 'i');
        } catch (error) {
            return found({problem: 'not valid', why: error.message});
        }
        this.found = found;
        this.ready().postMessage({pattern});
    }

    ready() {
        if (!this.worker) {
            const source = URL.createObjectURL(new Blob([`(${answerPatterns})()`], {type: 'text/javascript'}));
            this.worker = new Worker(source);
            URL.revokeObjectURL(source);
            const {names, short} = this.data.functions;
            this.worker.postMessage({names, short});
            this.worker.onmessage = ({data}) => data.begun ? this.limit() : this.end(data);
        }
        return this.worker;
    }

    limit() {
        this.timer = setTimeout(() => {
            const {found} = this;
            this.cancel();
            found({problem: 'takes too long', why: 'This expression takes too long to match the names of the functions.'});
        }, SEARCH_LIMIT_MS);
    }

    end(result) {
        const {found} = this;
        this.found = null;
        clearTimeout(this.timer);
        found(result);
    }

    // Gives up what is being looked for, and the worker that may be busy with it.
    cancel() {
        if (!this.found)
            return;
        this.found = null;
        clearTimeout(this.timer);
        this.worker.terminate();
        this.worker = null;
    }
}

// The cost of all samples that contain a matched function, each once.
function matchedValue(profile, match) {
    const {tree, value} = profile, inside = new Uint8Array(tree.count + 1);
    let sum = 0;
    for (let id = 1; id <= tree.count; id++) {
        inside[id] = inside[tree.parent[id]];
        if (!inside[id] && match.hit[tree.function[id]]) {
            inside[id] = 1;
            sum += value[id];
        }
    }
    return sum;
}

// What a module is called in the later of two recordings (--map OLD=NEW).
function renamedModule(data, name) {
    return data.renamed.find(text => text.startsWith(name + '='))?.slice(name.length + 1) ?? name;
}

// Functions of two builds are the same when name, file name and module are; those of a library by its
// name without the version behind ".so.N". One without a file, because a build or a machine was without
// debug information, is the one of its name, if there is one only. Functions without a name are known by
// their address, which says something within one build only: of several builds all such functions of a
// module are one.
function sameFunctions(data) {
    if (data.same)
        return data.same;
    const stem = name => /^.*?\.so\.\d*/.exec(renamedModule(data, name))?.[0] ?? renamedModule(data, name);
    const builds = new Map();
    for (const module of data.modules) {
        const name = stem(module.name);
        builds.set(name, (builds.get(name) || new Set()).add(module.build));
    }
    const first = new Map(), same = new Int32Array(data.functions.count);
    const firstModules = new Map(), files = new Map(); // files: of a name in a module; '': several
    const moduleOf = fn => stem(data.modules[data.functions.module[fn]].name);
    const fileOf = fn => data.files[data.functions.file[fn]]?.replace(/^.*\//s, '') || '';
    const nameOf = fn => data.functions.names[fn] + '\u0000' + moduleOf(fn);
    for (let fn = 0; fn < same.length; fn++)
        if (fileOf(fn))
            files.set(nameOf(fn), (files.get(nameOf(fn)) ?? fileOf(fn)) === fileOf(fn) ? fileOf(fn) : '');
    data.unnamedIn = new Map();
    data.sameModule = new Int32Array(data.modules.length);
    for (let fn = 0; fn < same.length; fn++) {
        const module = moduleOf(fn);
        const apart = data.functions.flags[fn] & FLAG_UNNAMED && builds.get(module).size > 1;
        const key = apart ? '\u0000' + module + '\u0000'
            : [nameOf(fn), fileOf(fn) || files.get(nameOf(fn)) || ''].join('\u0000');
        if (!first.has(key))
            first.set(key, fn);
        same[fn] = first.get(key);
        const at = data.functions.module[fn];
        if (!firstModules.has(module))
            firstModules.set(module, at);
        data.sameModule[at] = firstModules.get(module);
        if (apart)
            data.unnamedIn.set(same[fn], `[unnamed in ${module}]`);
    }
    return data.same = same;
}
