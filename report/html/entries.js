// Trees that grow when they are looked at. An entry of a lazy tree is a function, its value, and children
// made on demand, largest first.

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

// Bottom-up: occurrences of a function (nodes reached, and the costs carried to each) and, one step
// further out, their callers.
class UpEntry {
    constructor(profile, fn, up, carried) {
        this.profile = profile;
        this.function = fn;
        this.up = up;
        this.depth = up ? up.depth + 1 : 0;
        this.carried = carried;
        this.samples = this.weight = 0;
        for (let i = 0; i < carried.nodes.length; i++) {
            this.samples += carried.samples[i];
            this.weight += carried.weight[i];
        }
        this.value = profile.byWeight ? this.weight : this.samples;
        this.self = this.selfSamples = this.selfWeight = 0;
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree} = this.profile, {nodes, samples, weight} = this.carried, callers = new Callers(this.profile);
        for (let i = 0; i < nodes.length; i++)
            if (tree.parent[nodes[i]])
                callers.add(tree.parent[nodes[i]], samples[i], weight[i]);
        this.carried = null;
        return this.kids = callers.entries(this);
    }
}

// A function with all of its own cost: where that arose is looked up when its callers are asked for.
class LeafEntry {
    constructor(profile, fn, up) {
        const costs = profile.functions();
        Object.assign(this, {profile, function: fn, up, depth: 1});
        this.samples = this.selfSamples = costs.selfSamples[fn];
        this.weight = this.selfWeight = costs.selfWeight[fn];
        this.value = this.self = profile.byWeight ? this.weight : this.samples;
    }

    children() {
        if (this.kids)
            return this.kids;
        const {tree, costs} = this.profile, callers = new Callers(this.profile);
        for (const id of tree.nodesOf(this.function))
            if (tree.parent[id] && (costs.selfSamples[id] || costs.selfWeight[id]))
                callers.add(tree.parent[id], costs.selfSamples[id], costs.selfWeight[id]);
        return this.kids = callers.entries(this);
    }
}

// Costs carried to nodes, grouped by the nodes' functions. Where a node and a function stand is kept in
// arrays of the profile's tree, which are zero between uses.
class Callers {
    constructor(profile) {
        this.profile = profile;
        this.nodePlaces = profile.tree.nodePlaces ||= new Uint32Array(profile.tree.count + 1);
        this.groupPlaces = profile.tree.groupPlaces ||= new Uint32Array(profile.data.functions.count);
        this.groups = [];
    }

    add(node, samples, weight) {
        const fn = this.profile.tree.function[node];
        let at = this.groupPlaces[fn];
        if (!at)
            at = this.groupPlaces[fn] = this.groups.push({fn, nodes: [], samples: [], weight: []});
        const group = this.groups[at - 1], place = this.nodePlaces[node];
        if (place) {
            group.samples[place - 1] += samples;
            group.weight[place - 1] += weight;
        } else {
            this.nodePlaces[node] = group.nodes.push(node);
            group.samples.push(samples);
            group.weight.push(weight);
        }
    }

    entries(up) {
        for (const {fn, nodes} of this.groups) {
            this.groupPlaces[fn] = 0;
            for (const node of nodes)
                this.nodePlaces[node] = 0;
        }
        return this.groups.map(group => new UpEntry(this.profile, group.fn, up, group)).sort(byValue);
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
    const own = profile.functions(), kids = [];
    const root = new UpEntry(profile, -1, null, {nodes: [0], samples: [profile.costs.samples[0]],
                                                 weight: [profile.costs.weight[0]]});
    for (let fn = 0; fn < own.samples.length; fn++)
        if (own.selfSamples[fn] || own.selfWeight[fn])
            kids.push(new LeafEntry(profile, fn, root));
    root.kids = kids.sort(byValue);
    return profile.bottomUpRoot = root;
}

function outermostNodes(profile, fn) {
    const {tree, costs} = profile;
    return [...tree.nodesOf(fn).filter(id => tree.outermost[id] && (costs.samples[id] || costs.weight[id]))];
}

// The callees and callers of a function, from its outermost occurrences on.
function calleesOf(profile, fn) {
    const entry = new DownEntry(profile, outermostNodes(profile, fn), null);
    entry.function = fn;
    return entry;
}

function callersOf(profile, fn) {
    const nodes = outermostNodes(profile, fn), {costs} = profile;
    return new UpEntry(profile, fn, null, {nodes, samples: nodes.map(id => costs.samples[id]),
                                           weight: nodes.map(id => costs.weight[id])});
}
