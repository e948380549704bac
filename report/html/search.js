// Which functions a text names, and which functions of two builds are one.

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
