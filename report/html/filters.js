// What is left out of the stacks: those without a function (focus), those with it (ignore), the function's
// own frames (hide), and frames of a function that calls itself. The rules are those of `sprof report`.

const DROPPED = 0xffffffff; // the node of a path whose costs are left out: no array has that index
const FILTER_BITS = {focus: 1, ignore: 2, hide: 4};
const LIBRARY_SCOPES = '^(<?(std|__gnu_cxx|__cxxabiv1|core|alloc|hashbrown|__rustc|runtime)(::|\\.)|__gthread_)';

function withoutLibraries(filters) {
    return filters.filter(({text}) => text !== LIBRARY_SCOPES);
}

// The application alone, without the standard library and run-time code within it.
function myCode({filters}) {
    return {mode: 'app', filters: [...withoutLibraries(filters), {kind: 'hide', text: LIBRARY_SCOPES}]};
}

// A name as an expression that finds nothing else.
const exactPart = text => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const exactly = name => `^${exactPart(name)}$`;

// Ignored and hidden are the functions of all expressions of the kind; focused is that of the last.
function filterMarks(data, filters) {
    const {names, short} = data.functions, marks = new Uint8Array(names.length);
    const chosen = filters.filter(({kind}, at) => kind !== 'focus' || !filters.slice(at + 1).some(later => later.kind === 'focus'));
    for (const {kind, text} of chosen) {
        const expression = new RegExp(text);
        names.forEach((name, fn) => {
            if (expression.test(name) || expression.test(short[fn]))
                marks[fn] |= FILTER_BITS[kind];
        });
    }
    return marks;
}

// The tree that is left of a view's.
function filteredView(data, view, filters, collapse) {
    const {tree} = view, {parent, function: fns, count} = tree, out = new Tree(count);
    const marks = filterMarks(data, filters), {focus, ignore, hide} = FILTER_BITS;
    const wanted = filters.some(({kind}) => kind === 'focus') ? focus : 0;
    const copy = new Uint32Array(count + 1), seen = new Uint8Array(count + 1), target = new Uint32Array(count + 1).fill(DROPPED);
    for (let id = 1; id <= count; id++) {
        const up = parent[id], fn = fns[id], own = marks[fn];
        seen[id] = seen[up] | own & (focus | ignore);
        const gone = own & hide || collapse && copy[up] && out.function[copy[up]] === fn;
        copy[id] = gone ? copy[up] : out.child(copy[up], fn);
        if (copy[id] && !(seen[id] & ignore) && (seen[id] & wanted) === wanted)
            target[id] = copy[id];
    }
    return {...view, tree: out.finish(moduleNumbers(data, view.same), data.modules.length),
            sink: view.sink.map(id => id ? target[id] : 0), recorded: false, pathKinds: null};
}

// A view in which some functions are the first of them; calls among them are none.
function unitedView(data, view, hit) {
    const {tree} = view, first = hit.indexOf(1), out = new Tree(tree.count), copy = new Uint32Array(tree.count + 1);
    for (let id = 1; id <= tree.count; id++) {
        const up = copy[tree.parent[id]], fn = hit[tree.function[id]] ? first : tree.function[id];
        copy[id] = fn === first && up && out.function[up] === first ? up : out.child(up, fn);
    }
    return {...view, tree: out.finish(moduleNumbers(data, view.same), data.modules.length),
            sink: view.sink.map(id => id === DROPPED ? DROPPED : copy[id]), recorded: false, pathKinds: null};
}

const quoted = text => /^[\w./:,=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
const MODE_ARGUMENTS = {full: '--mode full', app: '--mode app', 'app-drop': '--mode app --app-interior drop',
    'pc-app': '--mode pc --frame app', pc: '--mode pc'};

// A side of a comparison as sprof diff takes it: FILE with all of its runs, or FILE:RUN.
function sideOperand(data, event) {
    const {run, runs} = data.events[event], [, file, number] = /^(?:(.*), )?run (\d+)$/s.exec(data.runs[run].label) || [null, data.runs[run].label];
    return runs ? file : number ? `${file ?? 'FILE'}:${number}` : file;
}

// The command that shows the same in a terminal.
function commandOf(app) {
    const {state, data} = app, run = app.run(), words = ['sprof report'];
    if (app.comparing)
        return [`sprof diff ${quoted(sideOperand(data, state.base))} ${quoted(sideOperand(data, state.event))} --per ${state.absolute ? 'run' : 'sample'}`,
            ...(state.mode === recordedMode(run) ? [] : [MODE_ARGUMENTS[state.mode]]), ...data.renamed.map(text => `--map ${quoted(text)}`)].join(' ');
    const all = kind => state.filters.filter(filter => filter.kind === kind).map(({text}) => text);
    if (state.mode !== recordedMode(run))
        words.push(MODE_ARGUMENTS[state.mode]);
    if (!app.event().runs && data.runs.filter(each => each.part === run.part).length > 1)
        words.push(`--run ${run.number}`);
    if (!app.event().runs && state.event !== data.events.findIndex(event => event.run === data.events[state.event].run))
        words.push(`--event ${quoted(app.event().name)}`);
    if (state.idle)
        words.push('--idle');
    for (const [kind, texts] of [['focus', all('focus').slice(-1)], ['ignore', all('ignore')], ['hide', all('hide')]])
        if (texts.length)
            words.push(`--${kind} ${quoted(texts.join('|'))}`);
    if (state.peek && state.tab === 'callers' && app.match?.hit)
        words.push(`--peek ${quoted(state.search.startsWith('/') ? `(?i)${state.search.replace(/^\/|\/$/g, '')}` : `(?i)${exactPart(state.search)}`)}`);
    if (state.thread >= 0)
        words.push(`--thread ${data.threads[state.thread].tid}`);
    if (state.process >= 0)
        words.push(`--process ${data.processes[state.process].pid}`);
    if (state.slots)
        words.push('--time ' + state.slots.map(slot => +(slot * run.slotNs / 1e9).toFixed(3)).join());
    return words.join(' ');
}

function copyText(text) {
    const area = element('textarea', {class: 'said'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
}

// What can be done with a function: a menu at the pointer, and the line of what was chosen from it.
class FunctionMenu {
    constructor(app) {
        this.app = app;
        this.box = element('div', {class: 'function-menu', role: 'menu', hidden: true});
        this.line = element('div', {class: 'bar-line filters', hidden: true});
        this.past = [];
        document.addEventListener('pointerdown', event => this.box.contains(event.target) || this.close());
        this.box.addEventListener('keydown', event => this.key(event));
    }

    // `path`: the functions from the root to this one, where they are known.
    open(event, fn, path) {
        if (fn < 0)
            return;
        event.preventDefault();
        const {app} = this, {names, shown} = app.data.functions, name = app.profile.nameOf(fn);
        const filter = kind => () => this.change({filters: [...app.state.filters, {kind, text: exactly(name)}]});
        const source = !app.event().calls && sourceOf(app.data, app.state.event)?.places.has(fn);
        const items = [
            ['Focus: only stacks with it', filter('focus')], ['Ignore: only stacks without it', filter('ignore')],
            ['Hide: its cost counts for its callers', filter('hide')],
            app.state.collapse ? null : ['Collapse recursion', () => this.change({collapse: true})], null,
            ['Callers & callees', () => app.openFunction(fn)],
            source ? ['Source', () => app.set({tab: 'source', function: fn})] : null,
            ['Copy name', () => copyText(name)],
            path ? ['Copy stack', () => copyText(path.map(each => names[each]).join('\n'))] : null,
            ['Copy link', () => copyText(location.href)]];
        this.box.replaceChildren(element('div', {class: 'muted'}, shown[fn]), ...items.filter(Boolean).map(([text, act]) =>
            element('button', {role: 'menuitem', onclick: () => {
                this.close();
                act();
            }}, text)));
        this.box.hidden = false;
        this.box.style.left = Math.max(0, Math.min(event.clientX, window.innerWidth - this.box.offsetWidth - 8)) + 'px';
        this.box.style.top = Math.max(0, Math.min(event.clientY, window.innerHeight - this.box.offsetHeight - 8)) + 'px';
        this.box.querySelector('button').focus();
    }

    close() {
        this.box.hidden = true;
    }

    key(event) {
        const items = [...this.box.querySelectorAll('button')], step = {ArrowDown: 1, ArrowUp: -1}[event.key];
        if (event.key === 'Escape')
            this.close();
        else if (step)
            items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
        else if (event.key !== 'Enter' && event.key !== ' ')
            return;
        else
            document.activeElement.click();
        event.preventDefault();
        event.stopPropagation();
    }

    // Changes what is left out; undo leads back.
    change(change) {
        const {filters, collapse, mode} = this.app.state;
        this.past.push({filters, collapse, mode});
        this.app.set({...change, zoom: []});
    }

    undo() {
        if (this.past.length)
            this.app.set({...this.past.pop(), zoom: []});
    }

    toggleMine() {
        const {state} = this.app, own = myCode(state);
        this.change(this.isMine() ? {filters: withoutLibraries(state.filters)}
            : {...own, mode: this.app.modes().includes('app') ? own.mode : state.mode});
    }

    isMine() {
        return this.app.state.filters.some(({text}) => text === LIBRARY_SCOPES);
    }

    paint() {
        const {state} = this.app, chip = (text, change) => element('button', {class: 'chip', title: 'Take this back', onclick: () => this.change(change)},
            `${text}  ✕`);
        const plain = text => text === LIBRARY_SCOPES ? 'standard library' : text.replace(/^\^|\$$/g, '').replace(/\\(.)/g, '$1');
        this.line.hidden = !state.filters.length && !state.collapse && !this.past.length;
        const command = commandOf(this.app);
        this.line.replaceChildren(...state.filters.map((filter, at) => chip(`${filter.kind} ${plain(filter.text)}`,
            {filters: state.filters.filter((each, i) => i !== at)})),
            ...(state.collapse ? [chip('recursion collapsed', {collapse: false})] : []),
            ...(this.past.length ? [element('button', {class: 'plain', title: 'u', onclick: () => this.undo()}, 'Undo')] : []),
            element('code', {title: 'the same in a terminal' + (state.collapse ? ', but for collapsed recursion' : '')}, command),
            element('button', {class: 'plain', onclick: () => copyText(command)}, 'Copy'));
    }
}
