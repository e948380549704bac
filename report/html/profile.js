// Every number of the page: costs of call paths under a selection, read in a mode, and what functions,
// modules, callers and callees make of them. The rules are those of `sprof report`.

// Exclusive cost per path of the cells that a selection holds.
function selectCosts(data, selection) {
    const n = data.nodes.count + 1;
    const costs = {samples: new Float64Array(n), weight: new Float64Array(n)};
    const {lane, slot, node, samples, weight} = data.cells;
    for (const [start, end] of selectedRanges(data, selection))
        for (let i = start; i < end; i++) {
            costs.samples[node[i]] += samples[i];
            costs.weight[node[i]] += weight[i];
        }
    return costs;
}

// The index of the first cell of each lane, once; cells are sorted by lane and slot.
function laneStarts(data) {
    if (!data.laneStarts) {
        data.laneStarts = new Uint32Array(data.lanes.length + 1).fill(data.cells.count);
        for (let i = data.cells.count - 1; i >= 0; i--)
            data.laneStarts[data.cells.lane[i]] = i;
        for (let i = data.lanes.length - 1; i >= 0; i--)
            data.laneStarts[i] = Math.min(data.laneStarts[i], data.laneStarts[i + 1]);
    }
    return data.laneStarts;
}

function firstAtSlot(slots, low, high, slot) {
    while (low < high) {
        const middle = (low + high) >> 1;
        if (slots[middle] < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A lane is an event and a thread; a selection chooses lanes and a range of slots.
function laneIsSelected(data, lane, selection) {
    const [event, thread] = data.lanes[lane];
    return event === selection.event &&
           (selection.thread < 0 || thread === selection.thread) &&
           (selection.process < 0 || data.threads[thread].process === selection.process);
}

function* selectedRanges(data, selection) {
    const starts = laneStarts(data);
    for (let lane = 0; lane < data.lanes.length; lane++) {
        if (!laneIsSelected(data, lane, selection))
            continue;
        let start = starts[lane], end = starts[lane + 1];
        if (selection.slots) {
            end = firstAtSlot(data.cells.slot, start, end, selection.slots[1]);
            start = firstAtSlot(data.cells.slot, start, end, selection.slots[0]);
        }
        if (start < end)
            yield [start, end];
    }
}

// A tree of functions. Ids count from 1, parents have smaller ids than children.
class Tree {
    constructor(capacity) {
        this.parent = new Uint32Array(capacity + 1);
        this.function = new Int32Array(capacity + 1);
        this.function[0] = -1;
        this.count = 0;
        this.index = new Map();
    }

    child(parent, fn) {
        const key = parent * 0x200000 + fn;
        let id = this.index.get(key);
        if (id === undefined) {
            id = ++this.count;
            this.parent[id] = parent;
            this.function[id] = fn;
            this.index.set(key, id);
        }
        return id;
    }

    // A child that is known to be new.
    append(parent, fn) {
        const id = ++this.count;
        this.parent[id] = parent;
        this.function[id] = fn;
        return id;
    }

    // Children of each node as linked lists, and which nodes are the outermost of their function
    // and of their module on their path.
    finish(moduleOf) {
        this.index = null;
        const n = this.count + 1;
        this.first = new Uint32Array(n);
        this.next = new Uint32Array(n);
        for (let id = this.count; id > 0; id--) {
            this.next[id] = this.first[this.parent[id]];
            this.first[this.parent[id]] = id;
        }
        this.outermost = new Uint8Array(n);
        this.outermostOfModule = new Uint8Array(n);
        const open = new Map(), openModules = new Map();
        const enter = (map, key) => {
            const depth = map.get(key) || 0;
            map.set(key, depth + 1);
            return depth === 0 ? 1 : 0;
        };
        let id = this.first[0];
        while (id) {
            const fn = this.function[id];
            this.outermost[id] = enter(open, fn);
            this.outermostOfModule[id] = enter(openModules, moduleOf[fn]);
            if (this.first[id]) {
                id = this.first[id];
                continue;
            }
            while (id) {
                const left = this.function[id];
                open.set(left, open.get(left) - 1);
                openModules.set(moduleOf[left], openModules.get(moduleOf[left]) - 1);
                if (this.next[id]) {
                    id = this.next[id];
                    break;
                }
                id = this.parent[id];
            }
        }
        return this;
    }
}

function isApplication(data, fn) {
    return APP_KINDS.has(data.modules[data.functions.module[fn]].kind) &&
           !(data.functions.flags[fn] & FLAG_STARTUP);
}

// The module of each function; in a comparison the builds of a module are one.
function moduleNumbers(data, same) {
    const {module} = data.functions;
    return same ? data.sameModules ||= module.map(at => data.sameModule[at]) : module;
}

// The tree that a recording in `mode` would have given, and for each recorded path the node of it
// that its samples count for. `same` maps functions that are one in a comparison to one of them.
function readAs(data, mode, same) {
    const {parent, function: fns, count} = data.nodes;
    const name = fn => same ? same[fn] : fn;
    const tree = new Tree(count + 1);
    const sink = new Uint32Array(count + 1), copy = new Uint32Array(count + 1);
    const outsideFn = name(data.outsideFunction);
    const innermost = new Int32Array(count + 1).fill(-1);
    const app = new Uint8Array(count + 1), below = new Uint8Array(count + 1);
    if (mode !== 'full' && mode !== 'pc') {
        for (let id = 1; id <= count; id++)
            app[id] = isApplication(data, fns[id - 1]) ? 1 : 0;
        for (let id = count; id > 0; id--)
            if (app[id] || below[id])
                below[parent[id - 1]] = 1;
    }
    for (let id = 1; id <= count; id++) {
        const up = parent[id - 1], fn = name(fns[id - 1]);
        if (mode === 'full') {
            sink[id] = copy[id] = same ? tree.child(copy[up], fn) : tree.append(copy[up], fn);
        } else if (mode === 'pc') {
            sink[id] = tree.child(0, fn);
        } else if (mode === 'pc-app') {
            innermost[id] = app[id] ? fn : innermost[up];
            sink[id] = innermost[id] < 0 ? 0 : tree.child(0, innermost[id]);
        } else {
            const drop = mode === 'app-drop';
            const interior = !drop && copy[up] && below[id];
            sink[id] = sink[up];
            copy[id] = app[id] || interior ? tree.child(copy[up], fn) : drop ? copy[up] : 0;
            if (app[id])
                sink[id] = copy[id];
        }
    }
    for (let id = 1; id <= count; id++)
        if (!sink[id])
            sink[id] = tree.child(0, data.notSampled.has(fns[id - 1]) ? name(fns[id - 1]) : outsideFn);
    return {tree: tree.finish(moduleNumbers(data, same)), sink, mode, same};
}

// Exclusive and inclusive costs of a tree's nodes, [0] being the total.
function treeCosts(view, costs) {
    const n = view.tree.count + 1, {parent} = view.tree;
    const sum = {
        selfSamples: new Float64Array(n), selfWeight: new Float64Array(n),
        samples: new Float64Array(n), weight: new Float64Array(n),
    };
    for (let id = 1; id < costs.samples.length; id++) {
        sum.selfSamples[view.sink[id]] += costs.samples[id];
        sum.selfWeight[view.sink[id]] += costs.weight[id];
    }
    for (let id = view.tree.count; id >= 0; id--) {
        sum.samples[id] += sum.selfSamples[id];
        sum.weight[id] += sum.selfWeight[id];
        if (id) {
            sum.samples[parent[id]] += sum.samples[id];
            sum.weight[parent[id]] += sum.weight[id];
        }
    }
    return sum;
}

const noCosts = n => ({
    selfSamples: new Float64Array(n), selfWeight: new Float64Array(n),
    samples: new Float64Array(n), weight: new Float64Array(n),
});

// Costs per function or module: exclusive of all nodes, inclusive of the outermost ones.
function groupCosts(tree, costs, groupOf, outermost, count) {
    const sum = noCosts(count);
    for (let id = 1; id <= tree.count; id++) {
        const group = groupOf(tree.function[id]);
        sum.selfSamples[group] += costs.selfSamples[id];
        sum.selfWeight[group] += costs.selfWeight[id];
        if (outermost[id]) {
            sum.samples[group] += costs.samples[id];
            sum.weight[group] += costs.weight[id];
        }
    }
    return sum;
}

// What one look at the data shows: a selection read in a mode.
class Profile {
    constructor(data, view, selection) {
        this.data = data;
        this.view = view;
        this.tree = view.tree;
        this.costs = treeCosts(view, selectCosts(data, selection));
        const event = data.events[selection.event];
        this.isClock = event.clock;
        this.byWeight = event.varying;
        this.value = this.byWeight ? this.costs.weight : this.costs.samples;
        this.selfValue = this.byWeight ? this.costs.selfWeight : this.costs.selfSamples;
        this.total = this.value[0];
    }

    // In a comparison functions without a name of several builds are one.
    nameOf(fn) {
        return this.view.same && this.data.unnamedIn.get(fn) || this.data.functions.names[fn];
    }

    pick(costs) { return this.byWeight ? costs.weight : costs.samples; }
    pickSelf(costs) { return this.byWeight ? costs.selfWeight : costs.selfSamples; }

    functions() {
        return this.functionCosts ||= groupCosts(this.tree, this.costs, fn => fn,
            this.tree.outermost, this.data.functions.count);
    }

    modules() {
        const moduleOf = moduleNumbers(this.data, this.view.same);
        return this.moduleCosts ||= groupCosts(this.tree, this.costs, fn => moduleOf[fn],
            this.tree.outermostOfModule, this.data.modules.length);
    }

    // The half width of the 95 % Wilson interval of a share, in percent.
    uncertainty(part) {
        const samples = this.byWeight && this.costs.samples[0]
            ? this.costs.samples[0] : this.total;
        if (!samples || !this.total)
            return 0;
        const z = 1.959963984540054, p = part / this.total, d = 1 + z * z / samples;
        return 100 * z / d * Math.sqrt(p * (1 - p) / samples + z * z / (4 * samples * samples));
    }
}

// ---- Trees that grow when they are looked at ------------------------------------------------------
// An entry of a lazy tree: a function, its value, and children made on demand, largest first.

// Top-down: one or more nodes of the profile's tree, merged.
class DownEntry {
    constructor(profile, nodes, up) {
        this.profile = profile;
        this.nodes = nodes;
        this.up = up;
        this.function = nodes.length ? profile.tree.function[nodes[0]] : -1;
        this.depth = up ? up.depth + 1 : 0;
        this.samples = this.weight = this.selfSamples = this.selfWeight = 0;
        for (const id of nodes) {
            this.samples += profile.costs.samples[id];
            this.weight += profile.costs.weight[id];
            this.selfSamples += profile.costs.selfSamples[id];
            this.selfWeight += profile.costs.selfWeight[id];
        }
        this.value = profile.byWeight ? this.weight : this.samples;
        this.self = profile.byWeight ? this.selfWeight : this.selfSamples;
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree, costs} = this.profile;
        // The children of one node are of different functions; those of several must be merged.
        const groups = this.nodes.length === 1 ? null : new Map(), lists = [];
        for (const id of this.nodes)
            for (let child = tree.first[id]; child; child = tree.next[child]) {
                if (!costs.samples[child] && !costs.weight[child])
                    continue;
                const group = groups?.get(tree.function[child]);
                if (group) {
                    group.push(child);
                    continue;
                }
                const list = [child];
                groups?.set(tree.function[child], list);
                lists.push(list);
            }
        this.kids = lists.map(nodes => new DownEntry(this.profile, nodes, this));
        this.kids.sort(byValue);
        return this.kids;
    }
}

// Bottom-up: occurrences of a function (pairs of a node reached and a cost carried there) and, one
// step further out, their callers. `carried` are indexes into the arrays of the root.
class UpEntry {
    constructor(profile, fn, up, nodes, samples, weight) {
        this.profile = profile;
        this.function = fn;
        this.up = up;
        this.depth = up ? up.depth + 1 : 0;
        this.nodes = nodes;
        this.carriedSamples = samples;
        this.carriedWeight = weight;
        this.samples = this.weight = 0;
        for (let i = 0; i < nodes.length; i++) {
            this.samples += samples[i];
            this.weight += weight[i];
        }
        this.value = profile.byWeight ? this.weight : this.samples;
        this.self = this.selfSamples = this.selfWeight = 0;
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree} = this.profile, carried = new Carried(this.profile);
        for (let i = 0; i < this.nodes.length; i++) {
            const caller = tree.parent[this.nodes[i]];
            if (caller)
                carried.add(caller, this.carriedSamples[i], this.carriedWeight[i]);
        }
        return this.kids = carried.entries(this);
    }
}

// Costs carried to nodes, grouped by the nodes' functions. Places of nodes are kept in one array of
// the profile's, which is zero between uses.
class Carried {
    constructor(profile) {
        this.profile = profile;
        this.places = profile.carriedPlaces ||= new Uint32Array(profile.tree.count + 1);
        this.groups = new Map();
    }

    add(node, samples, weight) {
        const fn = this.profile.tree.function[node];
        let group = this.groups.get(fn);
        if (!group)
            this.groups.set(fn, group = {nodes: [], samples: [], weight: []});
        const place = this.places[node];
        if (place) {
            group.samples[place - 1] += samples;
            group.weight[place - 1] += weight;
        } else {
            this.places[node] = group.nodes.push(node);
            group.samples.push(samples);
            group.weight.push(weight);
        }
    }

    entries(up) {
        const entries = [];
        for (const [fn, group] of this.groups) {
            for (const node of group.nodes)
                this.places[node] = 0;
            entries.push(new UpEntry(this.profile, fn, up, group.nodes, group.samples, group.weight));
        }
        return entries.sort(byValue);
    }
}

const byValue = (a, b) => b.value - a.value || a.function - b.function;

// The whole profile, callers above callees.
function topDown(profile) {
    return profile.topDownRoot ||= new DownEntry(profile, [0], null);
}

// The whole profile, functions by exclusive cost and their callers below.
function bottomUp(profile) {
    if (profile.bottomUpRoot)
        return profile.bottomUpRoot;
    const {tree, costs} = profile, carried = new Carried(profile);
    for (let id = 1; id <= tree.count; id++)
        if (costs.selfSamples[id] || costs.selfWeight[id])
            carried.add(id, costs.selfSamples[id], costs.selfWeight[id]);
    const root = new UpEntry(profile, -1, null, [], [], []);
    root.samples = costs.samples[0];
    root.weight = costs.weight[0];
    root.value = profile.total;
    root.kids = carried.entries(root);
    for (const entry of root.kids) {
        entry.self = entry.value;
        entry.selfSamples = entry.samples;
        entry.selfWeight = entry.weight;
    }
    return profile.bottomUpRoot = root;
}

function outermostNodes(profile, fn) {
    const nodes = [], {tree, costs} = profile;
    for (let id = 1; id <= tree.count; id++)
        if (tree.function[id] === fn && tree.outermost[id] &&
            (costs.samples[id] || costs.weight[id]))
            nodes.push(id);
    return nodes;
}

// The callees and callers of a function, from its outermost occurrences on.
function calleesOf(profile, fn) {
    const entry = new DownEntry(profile, outermostNodes(profile, fn), null);
    entry.function = fn;
    return entry;
}

function callersOf(profile, fn) {
    const nodes = outermostNodes(profile, fn), {costs} = profile;
    return new UpEntry(profile, fn, null, nodes, nodes.map(id => costs.samples[id]),
                       nodes.map(id => costs.weight[id]));
}

// ---- Search ---------------------------------------------------------------------------------------

// Which functions a text names: /regular expression/ or a part of the name, case ignored.
function matchFunctions(data, text) {
    if (!text)
        return null;
    let test;
    const pattern = /^\/(.*)\/?$/.exec(text);
    if (pattern) {
        let expression;
        try {
            expression = new RegExp(pattern[1].replace(/\/$/, ''), 'i');
        } catch (error) {
            return {error: error.message};
        }
        test = name => expression.test(name);
    } else {
        const lower = text.toLowerCase();
        test = name => name.toLowerCase().includes(lower);
    }
    const hit = new Uint8Array(data.functions.count);
    let count = 0;
    for (let fn = 0; fn < hit.length; fn++)
        if (test(data.functions.names[fn]))
            hit[fn] = 1, count++;
    return {hit, count};
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

// ---- Comparison -----------------------------------------------------------------------------------

// Functions of two builds are the same when name, file name and module are; those of a library by its
// name without the version behind ".so.N". Functions without a name are known by their address, which
// says something within one build only: of several builds all such functions of a module are one.
function sameFunctions(data) {
    if (data.same)
        return data.same;
    const stem = name => /^.*?\.so\.\d*/.exec(name)?.[0] ?? name;
    const builds = new Map();
    for (const module of data.modules) {
        const name = stem(module.name);
        builds.set(name, (builds.get(name) || new Set()).add(module.build));
    }
    const first = new Map(), same = new Int32Array(data.functions.count);
    const firstModules = new Map();
    data.unnamedIn = new Map();
    data.sameModule = new Int32Array(data.modules.length);
    for (let fn = 0; fn < same.length; fn++) {
        const file = data.files[data.functions.file[fn]] || '';
        const module = stem(data.modules[data.functions.module[fn]].name);
        const apart = data.functions.flags[fn] & FLAG_UNNAMED && builds.get(module).size > 1;
        const key = [apart ? '' : data.functions.names[fn], module,
                     apart ? '' : file.slice(file.lastIndexOf('/') + 1)].join('\u0000');
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
