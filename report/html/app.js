// The page itself: what is chosen (kept in the address, so that a link shows the same), the views, and
// the keys. Views are made when they are first shown and redrawn when what they depend on changed.

const VIEWS = [
    ['summary', 'Summary', (app, host) => new SummaryView(app, host)],
    ['coverage', 'Coverage', (app, host) => new CoverageView(app, host), app => Boolean(app.coverage())],
    ['calls', 'Calls', (app, host) => new CallsView(app, host), app => Boolean(app.singles())],
    ['drill', 'Drill-down', (app, host) => new DrillView(app, host), app => Boolean(app.drill())],
    ['compare', 'Comparison', (app, host) => new CompareView(app, host), app => app.comparing],
    ['flame', 'Flame graph', (app, host) => new FlameView(app, host), app => app.hasStacks()],
    ['order', 'Time order', (app, host) => new OrderView(app, host), app => app.hasStacks() && app.hasTime() && !app.comparing],
    ['tree', 'Call tree', (app, host) => new TreeView(app, host), app => app.hasStacks()],
    ['functions', 'Functions', (app, host) => new FunctionsView(app, host)],
    ['modules', 'Modules', (app, host) => new ModulesView(app, host)],
    ['callers', 'Callers & callees', (app, host) => new CallersView(app, host), app => app.hasStacks()],
    ['source', 'Source', (app, host) => new SourceView(app, host), app => !app.event().calls && (!app.event().parts || app.event().runs) && app.data.sources.some(source => source?.functions.length)],
    ['waits', 'Waits', (app, host) => new WaitsView(app, host), app => Boolean(app.waits())],
    ['lines', 'Lines', (app, host) => new LinesView(app, host), app => Boolean(app.lines())],
    ['heat', 'Heat map', (app, host) => new HeatView(app, host), app => app.hasTime()],
];

const MODES = [
    ['full', 'everything', 'The whole stack: kernel, libraries, application (-m full)'],
    ['app', 'application', 'The part of the stack up to where the thread leaves the application: what that calls counts for it (-m app)'],
    ['app-drop', 'application without libraries between', 'The same, without library frames between application frames (-m app --app-interior drop)'],
    ['pc-app', 'innermost frame of the application', 'One frame (-m pc --frame app)'],
    ['pc', 'innermost frame', 'One frame (-m pc)'],
];
const USUAL_MODES = 2; // the first of them; the others stand in the menu

// The modes a recording of one mode can be read in.
function readableModes(run) {
    if (run.mode === 'full')
        return new Set(MODES.map(([mode]) => mode));
    if (run.mode === 'app')
        return new Set(run.interior === 'drop' ? ['app-drop', 'pc-app'] : ['app', 'app-drop', 'pc-app']);
    return new Set([run.frame === 'app' ? 'pc-app' : 'pc']);
}

function recordedMode(run) {
    return run.mode === 'pc' ? (run.frame === 'app' ? 'pc-app' : 'pc')
        : run.mode === 'app' && run.interior === 'drop' ? 'app-drop' : run.mode;
}

// The modes that all of some runs can be read in, the most detailed first.
function commonModes(runs) {
    return MODES.map(([mode]) => mode).filter(mode => runs.every(run => readableModes(run).has(mode)));
}

const seconds = (ns, digits = 1) => (ns / 1e9).toFixed(digits);

function isExpression(text) {
    try {
        return Boolean(new RegExp(text));
    } catch {
        return false;
    }
}

class App {
    constructor(data, host) {
        this.data = data;
        this.host = host;
        this.trees = new Map();
        const saved = new URLSearchParams(location.hash.slice(1));
        this.palette = new Palette(data);
        this.darkScreen = matchMedia('(prefers-color-scheme: dark)');
        this.darkScreen.addEventListener('change', () => {
            this.showTheme();
            this.update();
        });
        this.chosenTheme = saved.get('theme');
        this.showTheme();
        this.functionSearch = new FunctionSearch(data);
        this.state = this.restore(saved);
        this.build();
        this.update();
        requestAnimationFrame(() => {
            this.shownAt = performance.now();
            this.prepare();
        });
        window.addEventListener('hashchange', () => {
            if (location.hash.slice(1) !== this.written) {
                const kept = new URLSearchParams(location.hash.slice(1));
                this.chosenTheme = kept.get('theme');
                this.state = this.restore(kept);
                this.showTheme();
                this.update();
            }
        });
    }

    // ---- State -------------------------------------------------------------------------------

    restore(saved) {
        const number = (name, most, other) => {
            const value = Number(saved.get(name) ?? other);
            return Number.isInteger(value) && value >= -1 && value < most ? value : other;
        };
        const {data} = this;
        const state = {
            event: Math.max(0, number('event', data.events.length, data.firstEvent)),
            process: number('process', data.processes.length, -1),
            thread: number('thread', data.threads.length, -1),
            base: number('base', data.events.length, data.firstBase ?? -1),
            tab: saved.get('tab') || this.firstTab(data),
            covered: saved.get('covered') || 'all',
            mode: saved.get('mode'),
            search: saved.get('q') || '',
            function: number('function', data.functions.count, -1),
            module: number('module', data.modules.length, -1),
            inverted: saved.get('inverted') === '1',
            flame: saved.get('flame') === '1',
            filters: saved.getAll('filter').map(text => ({kind: text.replace(/:.*$/s, ''), text: text.replace(/^[^:]*:/, '')}))
                .filter(({kind, text}) => kind in FILTER_BITS && isExpression(text)),
            collapse: saved.get('collapse') === '1',
            idle: saved.get('idle') === '1',
            mineLines: saved.get('lines') === 'mine',
            peek: saved.get('peek') === '1',
            chains: saved.get('chains') === '1',
            fullNames: saved.get('names') === 'full',
            absolute: saved.get('absolute') !== '0',
            order: ['duration', 'self'].find(order => order === saved.get('order')) || 'start',
            call: number('call', Infinity, -1),
            span: null,
            zoom: (saved.get('zoom') || '').split('.').filter(Boolean).map(Number)
                .filter(fn => fn >= 0 && fn < data.functions.count),
            slots: null,
        };
        const run = this.run(state), numbers = name => (saved.get(name) || '').split('-').map(Number), range = numbers('slots'), span = numbers('span');
        if (span.length === 2 && span.every(Number.isSafeInteger) && span[0] < span[1])
            state.span = span;
        if (range.length === 2 && range.every(Number.isInteger) && range[0] >= 0 &&
            range[0] < range[1] && range[1] <= run.slots)
            state.slots = range;
        if (this.isWall(state) && !saved.has('mode'))
            Object.assign(state, myCode(state));
        return this.chooseMode(state);
    }

    // Samples by the wall clock, or with waits, whose innermost functions are those in which the kernel waits: the program's own code is the answer.
    isWall(state = this.state) {
        const {name, time} = this.data.events[state.event];
        return (name === 'wall-clock' || time === 'both') && this.modes(state).includes('app') && this.modes(state).includes('full');
    }

    // Runs that are compared are read in the least detailed of their modes.
    chooseMode(state) {
        const run = this.run(state), modes = this.modes(state);
        if (!modes.includes(state.mode))
            state.mode = modes.includes(recordedMode(run)) ? recordedMode(run) : modes[0] ?? recordedMode(run);
        return state;
    }

    // The runs in sight: the chosen one, and the one it is compared with.
    modes(state = this.state) {
        const runs = [this.run(state)];
        if (state.base >= 0 && state.base !== state.event)
            runs.push(this.data.runs[this.data.events[state.base].run]);
        return commonModes(runs);
    }

    firstTab(data) {
        return data.firstBase !== undefined ? 'compare' : data.coverage.size ? 'coverage' : 'summary';
    }

    save() {
        const {state} = this, kept = new URLSearchParams();
        const put = (name, value, usual) => value !== usual && kept.set(name, value);
        put('tab', state.tab, this.firstTab(this.data));
        put('covered', state.covered, 'all');
        put('event', state.event, this.data.firstEvent);
        put('base', state.base, this.data.firstBase ?? -1);
        for (const name of ['process', 'thread', 'function', 'module'])
            put(name, state[name], -1);
        put('mode', state.mode, this.isWall() ? '' : recordedMode(this.run(state)));
        put('q', state.search, '');
        put('inverted', state.inverted ? '1' : '', '');
        put('flame', state.flame ? '1' : '', '');
        for (const {kind, text} of state.filters)
            kept.append('filter', `${kind}:${text}`);
        put('collapse', state.collapse ? '1' : '', '');
        put('idle', state.idle ? '1' : '', '');
        put('lines', state.mineLines ? 'mine' : '', '');
        put('peek', state.peek ? '1' : '', '');
        put('chains', state.chains ? '1' : '', '');
        put('names', state.fullNames ? 'full' : '', '');
        put('absolute', state.absolute ? '' : '0', '');
        put('zoom', state.zoom.join('.'), '');
        put('slots', state.slots ? state.slots.join('-') : '', '');
        put('span', state.span ? state.span.join('-') : '', '');
        put('order', state.order, 'start');
        put('call', state.call, -1);
        put('theme', this.chosenTheme, null);
        this.written = kept.toString();
        history.replaceState(null, '', '#' + this.written);
    }

    set(change) {
        Object.assign(this.state, change);
        if ('event' in change || 'base' in change)
            this.chooseMode(this.state);
        this.update();
    }

    run(state = this.state) {
        return this.data.runs[this.data.events[state.event].run];
    }

    // ---- What is shown -----------------------------------------------------------------------

    viewKey(mode, same) {
        return mode + (same ? ' same' : '');
    }

    // As a recording in the mode would have it.
    wholeView(mode, same) {
        const key = this.viewKey(mode, same);
        if (!this.trees.has(key))
            this.trees.set(key, readAs(this.data, mode, same));
        return this.trees.get(key);
    }

    // What filters leave of that. The last few are kept, for steps back and forth.
    view(mode, same) {
        const {state, transformKey} = this, whole = this.wholeView(mode, same);
        if (!transformKey)
            return whole;
        const key = this.viewKey(mode, same) + transformKey;
        this.filtered ||= new Map();
        if (!this.filtered.has(key)) {
            if (this.filtered.size > 7)
                this.filtered.delete(this.filtered.keys().next().value);
            this.filtered.set(key, filteredView(this.data, whole, state.filters, state.collapse));
        }
        return this.filtered.get(key);
    }

    // The trees of all modes are made while nobody waits for them.
    prepare() {
        const later = window.requestIdleCallback || (step => setTimeout(step, 300));
        const step = () => {
            const same = this.comparing ? sameFunctions(this.data) : null;
            const mode = this.modes().find(each => !this.trees.has(this.viewKey(each, same)));
            if (!mode)
                return;
            this.wholeView(mode, same);
            later(step);
        };
        later(step);
    }

    update() {
        const {state, data} = this;
        chooseNames(data, state.fullNames);
        const other = state.base >= 0 && state.base !== state.event;
        this.comparing = other && this.modes().length > 0;
        this.transformKey = state.filters.length || state.collapse ? JSON.stringify([state.filters, state.collapse]) : '';
        const key = JSON.stringify([state.event, state.process, state.thread,
                                    state.slots, state.mode, state.base, state.idle, this.transformKey]);
        if (key !== this.profileKey) {
            this.profileKey = key;
            const view = this.view(state.mode, this.comparing ? sameFunctions(data) : null);
            this.profile = new Profile(data, view, state, this.selected ||= new SelectedCosts(data));
            this.base = this.comparing ? new Profile(data, view, {event: state.base, process: -1,
                thread: -1, slots: null}) : null;
        }
        const compared = this.comparing ? this.profileKey + state.absolute : '';
        if (compared !== this.comparedKey) {
            this.comparedKey = compared;
            this.comparison = this.comparing ? new Comparison(this.profile, this.base, state.absolute) : null;
        }
        const timeKey = JSON.stringify([state.event, state.process, state.thread, state.mode, state.idle, this.transformKey]);
        if (timeKey !== this.timeKey) {
            this.timeKey = timeKey;
            this.timeCosts = slotCosts(data, state, this.view(state.mode));
        }
        if (state.search !== this.searched)
            this.lookFor(state.search);
        this.paintHeader();
        this.choice.paint();
        this.menuOf.paint();
        this.time.hidden = !this.hasTime() || this.barren();
        this.timeline.show(data, this.timeCosts, state.slots, this.run(), state.event);
        this.paintExpander();
        this.paintTabs();
        this.choice.fit();
        this.save();
    }

    // `match` is what was found; while a regular expression is evaluated it stays what it was.
    lookFor(text) {
        this.searched = text;
        this.searchNote = {problem: 'searching …'};
        let later = false;
        this.functionSearch.find(text, result => {
            this.match = result.hit ? result : null;
            this.searchNote = result;
            if (later)
                this.update();
        });
        later = true;
    }

    event() {
        return this.data.events[this.state.event];
    }

    // Which functions of the run were called; undefined: that was not looked for.
    coverage() {
        return this.data.coverage.get(this.data.runs.indexOf(this.run()));
    }

    // Calls of the run that were logged or kept one by one; undefined: there are none.
    singles() {
        return this.data.singleCalls.get(this.data.runs.indexOf(this.run()));
    }

    // Steps and probes of the run's drill-downs; undefined: there was none.
    drill() {
        return this.data.drills.get(this.data.runs.indexOf(this.run()));
    }

    // What ended the run's waits; undefined: that was not recorded.
    waits() {
        const waits = this.data.waits.get(this.data.runs.indexOf(this.run()));
        return waits?.wakers ? waits : undefined;
    }

    // The table of the run's lines, of its first event; undefined: there is none.
    lines() {
        const {run} = this.event(), first = this.data.events.findIndex(event => event.run === run);
        return this.event().calls || this.state.event !== first ? undefined : this.data.lines[run]?.table;
    }

    // What is counted, and whether it is known when it happened.
    unit() {
        return this.event().calls ? 'calls' : 'samples';
    }

    // Of calls that were counted by function alone it is not known who made them.
    hasStacks() {
        return !this.event().calls || this.data.hasCallers;
    }

    // A recording without anything: no view could show more than why.
    barren() {
        return this.run().empty && !this.profile.total && !this.narrowed() && !this.comparing;
    }

    hasTime() {
        return this.run().durationNs > 0 && !this.event().calls && !this.event().runs;
    }

    narrowed() {
        return Boolean(this.state.slots) || this.state.thread >= 0 || this.state.process >= 0;
    }

    // All threads and all of the time, stacks as recorded: what lines and instructions are counted of.
    wholeProfile() {
        const {data, state} = this;
        const event = sourceEvent(data, state.event);
        if (!this.narrowed() && event === state.event && !this.comparing && !this.transformKey && state.mode === recordedMode(this.run()))
            return this.profile;
        this.wholes ||= new Map();
        if (!this.wholes.has(event))
            this.wholes.set(event, new Profile(data, this.wholeView(recordedMode(this.run())),
                {event, process: -1, thread: -1, slots: null}));
        return this.wholes.get(event);
    }

    // ---- The frame of the page ---------------------------------------------------------------

    build() {
        this.search = element('input', {type: 'search', placeholder: 'Search functions  /',
            'aria-label': 'Search functions; /text/ is a regular expression',
            oninput: () => this.set({search: this.search.value})});
        this.share = element('span', {class: 'share'});
        this.command = element('div', {class: 'command'});
        this.facts = element('div', {class: 'facts'});
        const header = element('header', {},
            element('div', {class: 'brand'}, 'sprof'), this.command, this.facts,
            element('div', {class: 'search'}, this.search, this.share),
            element('button', {class: 'icon', title: 'Dark or light (d)', onclick: () => this.turnTheme()}, '◐'),
            element('button', {class: 'icon', title: 'Keys (?)', onclick: () => this.help.showModal()}, '?'));
        this.menuOf = new FunctionMenu(this);
        this.tabs = element('nav', {role: 'tablist'});
        this.choice = new Choices(this);
        const time = this.time = element('div', {class: 'timeline'});
        this.expander = element('button', {class: 'quiet', 'aria-expanded': 'false', onclick: () => {
            this.timeline.expanded = !this.timeline.expanded;
            this.expander.setAttribute('aria-expanded', String(this.timeline.expanded));
            this.timeline.paint();
            this.paintExpander();
        }}, 'threads');
        time.append(element('div', {class: 'timeline-head'}, this.choice.legend, element('div', {}, this.expander, this.choice.chips)));
        this.timeline = new Timeline(time, this.palette, {range: slots => this.set({slots})});
        this.nothing = element('p', {class: 'note warning', role: 'status'},
            'Nothing was recorded in what is selected. Choose more time, another thread or another run above.');
        this.main = element('main', {}, this.nothing);
        this.live = element('div', {class: 'said', 'aria-live': 'polite'});
        this.help = this.makeHelp();
        this.host.replaceChildren(header, time, this.choice.line,
            this.menuOf.line, this.main, this.live, this.help, this.menuOf.box);
        this.views = VIEWS.filter(([, , make]) => make).map(([id, title, make, when]) => ({id, title, make, when}));
        document.addEventListener('keydown', event => this.key(event));
        this.tabs.addEventListener('keydown', event => this.moveTab(event));
        window.addEventListener('beforeprint', () => this.print(true));
        window.addEventListener('afterprint', () => this.print(false));
    }

    paintExpander() {
        const {state, data} = this, {run} = this.event();
        const all = data.threads.filter(({process}, thread) => data.processes[process].run === run &&
            (state.thread < 0 || state.thread === thread) && (state.process < 0 || state.process === process)).length;
        const active = this.timeCosts.threads.size, shown = Math.min(active, TIMELINE_THREADS);
        this.expander.textContent = (this.timeline.expanded ? '▾ ' : '▸ ') + (shown < all ? `${shown} of ` : '') +
            `${formatCount(all)} thread${all === 1 ? '' : 's'}`;
        this.expander.title = shown < active ? 'the busiest of all threads' : shown < all ? `the others have no ${this.unit()}` : '';
    }

    // Left and right lead from view to view, as in every list of tabs.
    moveTab(event) {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (!step)
            return;
        const shown = [...this.tabs.children], at = shown.findIndex(tab => tab.dataset.tab === this.state.tab);
        this.set({tab: shown[(at + step + shown.length) % shown.length].dataset.tab});
        this.tabs.querySelector('[aria-selected=true]').focus();
        event.preventDefault();
    }

    // Paper has no scroll bars.
    print(begins) {
        printing = begins;
        this.showTheme();
        this.update();
    }

    paintHeader() {
        const run = this.run(), {profile} = this;
        this.command.textContent = run.command;
        this.command.title = run.command;
        document.title = `${run.name} · sprof`;
        const bad = run.trust.filter(each => each.warn), wanted = bad.length ? bad : run.trust;
        this.facts.replaceChildren(...cardsOf(this).map(card => element('span', {},
            element('b', {}, card.value), ` ${card.title}${/^\d+ % of/.test(card.note) ? `, ${card.note}` : ''}`)),
            element('button', {class: 'quality' + (bad.length ? ' bad' : ''), title: run.quality.join('\n'),
                onclick: () => this.set({tab: 'summary'})}, wanted.map(each => each.text).join(' · ')));
        if (this.search.value !== this.state.search)
            this.search.value = this.state.search;
        this.share.textContent = this.searchNote.problem || (this.match
            ? formatPercent(matchedValue(profile, this.match), profile.total, profile.costs.samples[0]) : '');
        this.share.title = this.searchNote.why || `share of the ${this.unit()} that contain a match`;
    }

    paintTabs() {
        const {state} = this;
        const shown = this.views.filter(view => this.barren() && !(view.id === 'coverage' && this.coverage()) ? view.id === 'summary' : !view.when || view.when(this));
        if (!shown.some(view => view.id === state.tab))
            state.tab = shown[0].id;
        const focused = this.tabs.contains(document.activeElement);
        this.tabs.replaceChildren(...shown.map(view => element('button', {
            role: 'tab', 'aria-selected': String(view.id === state.tab), 'data-tab': view.id,
            'aria-controls': 'view-' + view.id, tabindex: view.id === state.tab ? 0 : -1,
            onclick: () => this.set({tab: view.id}),
        }, view.title)));
        if (focused)
            this.tabs.querySelector('[aria-selected=true]').focus();
        const {empty} = this.run();
        this.nothing.hidden = Boolean(this.profile.total || this.coverage());
        this.nothing.textContent = empty && !this.narrowed() ? empty[0].toUpperCase() + empty.slice(1) + '.'
            : 'Nothing was recorded in what is selected. Choose more time, another thread or another run above.';
        for (const view of this.views) {
            const here = view.id === state.tab;
            if (here && !view.host) {
                view.host = element('section', {class: 'view', 'data-view': view.id, id: 'view-' + view.id,
                    role: 'tabpanel', 'aria-label': view.title});
                this.main.append(view.host);
                view.object = view.make(this, view.host);
            }
            if (view.host)
                view.host.hidden = !here;
            if (here)
                view.object.draw(this);
        }
    }

    openFunction(fn) {
        if (fn >= 0)
            this.set({tab: this.hasStacks() ? 'callers' : 'functions', function: fn});
    }

    say(text) {
        this.live.textContent = text;
    }

    // The theme that was chosen, or that of the screen, also when that changes; paper is always light.
    showTheme() {
        const theme = printing ? 'light' : this.chosenTheme === 'dark' || this.chosenTheme === 'light'
            ? this.chosenTheme : this.themeOfScreen();
        document.documentElement.dataset.theme = theme;
        this.palette.setTheme(theme === 'dark');
    }

    themeOfScreen() {
        return this.darkScreen.matches ? 'dark' : 'light';
    }

    // What is chosen as the screen has it follows the screen.
    turnTheme() {
        const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
        this.chosenTheme = theme === this.themeOfScreen() ? null : theme;
        this.showTheme();
        this.update();
    }

    key(event) {
        if (event.target.matches('input, select') && event.key !== 'Escape' ||
            event.ctrlKey || event.metaKey || event.altKey)
            return;
        const number = Number(event.key), shown = [...this.tabs.querySelectorAll('button')];
        if (number >= 1 && number <= shown.length)
            shown[number - 1].click();
        else if (event.key === '/')
            this.search.focus();
        else if (event.key === 'Escape')
            event.target === this.search && this.search.value ? this.set({search: ''}) : this.set({slots: null});
        else if (event.key === 'd')
            this.turnTheme();
        else if (event.key === 'i')
            this.set({inverted: !this.state.inverted, zoom: []});
        else if (event.key === 'u')
            this.menuOf.undo();
        else if (event.key === 'c')
            this.menuOf.toggleMine();
        else if (event.key === 'n')
            this.set({fullNames: !this.state.fullNames});
        else if (event.key === 's')
            this.set({tab: 'source'});
        else if (event.key === 'f')
            this.set({flame: !this.state.flame});
        else if (event.key === 'm') {
            const modes = this.modes();
            this.set({mode: modes[(modes.indexOf(this.state.mode) + 1) % modes.length], zoom: []});
        } else if (event.key === '?')
            this.help.showModal();
        else
            return;
        event.preventDefault();
    }

    makeHelp() {
        const rows = [['1 … 9', 'the views'], ['/', 'search; /text/ is a regular expression'],
            ['m', 'next mode'], ['i', 'top-down or bottom-up'], ['f', 'flame graph or icicle'],
            ['right button', 'what can be done with a function: focus, ignore, hide, copy'],
            ['c', 'my code only'], ['u', 'undo the last focus, ignore, hide'], ['n', 'short or full names'], ['s', 'source of the function'], ['d', 'dark or light'], ['Esc', 'all of the time again; in the graph: zoom out'],
            ['arrows', 'move; in trees right opens and left closes'], ['*', 'open the hottest path'],
            ['Enter', 'zoom, or callers and callees of the function'],
            ['Ctrl + wheel', 'in the graph and the time strip: nearer and farther, where the pointer is'],
            ['double click', 'callers and callees of the function; in the time strip all of the time']];
        return element('dialog', {}, element('h3', {}, 'Keys'), element('table', {},
            ...rows.map(([key, text]) => element('tr', {}, element('td', {}, element('kbd', {}, key)),
                                                 element('td', {}, text)))),
            element('form', {method: 'dialog'}, element('button', {}, 'Close')));
    }
}

loadData().then(data => window.sprof = new App(data, document.getElementById('app')), error => {
    document.getElementById('app').replaceChildren(element('p', {class: 'note'},
        `This page cannot be read: ${error.message}. It may have been cut off while it was copied.`));
});
