// The trees of functions that a recording in each mode would have given.

// Ids count from 1, parents have smaller ids than children.
class Tree {
    constructor(capacity) {
        this.parent = new Uint32Array(capacity + 1);
        this.function = new Int32Array(capacity + 1);
        this.function[0] = -1;
        this.count = 0;
        this.capacity = capacity;
    }

    // The child of a node for a function, made where there is none. Known children stand in an open hash
    // table of ids, of which at most half is in use.
    child(parent, fn) {
        if (!this.known) {
            this.known = new Uint32Array(1 << 33 - Math.clz32(this.capacity + 1));
            this.mask = this.known.length - 1;
        }
        const {known, mask} = this;
        let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn + 1, 0x85ebca6b)) >>> 3 & mask;
        for (let id; (id = known[at]); at = at + 1 & mask)
            if (this.parent[id] === parent && this.function[id] === fn)
                return id;
        return known[at] = this.append(parent, fn);
    }

    // A child that is known to be new.
    append(parent, fn) {
        const id = ++this.count;
        this.parent[id] = parent;
        this.function[id] = fn;
        return id;
    }

    // Children of each node as linked lists, nodes by function, and which nodes are the outermost of
    // their function and of their module on their path.
    finish(moduleOf, modules) {
        this.known = null;
        const n = this.count + 1, {parent} = this, fns = this.function;
        const first = this.first = new Uint32Array(n), next = this.next = new Uint32Array(n);
        const places = this.places = new Uint32Array(moduleOf.length + 1);
        for (let id = n - 1; id > 0; id--) {
            next[id] = first[parent[id]];
            first[parent[id]] = id;
            places[fns[id] + 1]++;
        }
        for (let fn = 1; fn <= moduleOf.length; fn++)
            places[fn] += places[fn - 1];
        const filled = places.slice(), byFunction = this.byFunction = new Uint32Array(n);
        for (let id = 1; id < n; id++)
            byFunction[filled[fns[id]]++] = id;
        const outermost = this.outermost = new Uint8Array(n);
        const outermostOfModule = this.outermostOfModule = new Uint8Array(n);
        const open = new Uint32Array(moduleOf.length), openModules = new Uint32Array(modules);
        for (let id = first[0]; id;) {
            outermost[id] = open[fns[id]]++ ? 0 : 1;
            outermostOfModule[id] = openModules[moduleOf[fns[id]]]++ ? 0 : 1;
            if (first[id]) {
                id = first[id];
                continue;
            }
            for (; id; id = parent[id]) {
                open[fns[id]]--;
                openModules[moduleOf[fns[id]]]--;
                if (next[id])
                    break;
            }
            id = next[id];
        }
        return this;
    }

    // The nodes of a function.
    nodesOf(fn) {
        return this.byFunction.subarray(this.places[fn], this.places[fn + 1]);
    }
}

// Which functions belong to the application.
function applicationFunctions(data) {
    const kinds = data.modules.map(module => APP_KINDS.has(module.kind)), {module, flags} = data.functions;
    return data.application ||= flags.map((flag, fn) => kinds[module[fn]] && !(flag & FLAG_STARTUP) ? 1 : 0);
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
        const application = applicationFunctions(data);
        for (let id = 1; id <= count; id++)
            app[id] = application[fns[id - 1]];
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
    return {tree: tree.finish(moduleNumbers(data, same), data.modules.length), sink, mode, same,
            recorded: mode === 'full' && !same};
}
