// What is looked at: the run, event, process and thread, what it is compared with, and how stacks are read.
// They stand beside the tabs as far as there is room in that line; what else there is stands in a menu.

class Choices {
    constructor(app) {
        this.app = app;
        this.choices = element('div', {class: 'choices'});
        this.menu = element('details', {class: 'menu'});
        this.line = element('div', {class: 'views'}, app.tabs, this.choices, this.menu);
        this.legend = element('div', {class: 'legend'});
        this.chips = element('span', {class: 'chips'});
        new ResizeObserver(() => this.line.clientWidth !== this.fitted && this.fit()).observe(this.line);
    }

    paint() {
        const {app} = this, {state, data} = app, event = data.events[state.event], run = app.run();
        const modes = new Set(app.modes());
        this.selects = this.makeSelects(run, event).filter(Boolean);
        this.segments = event.calls ? null : element('span', {class: 'segments', role: 'group', 'aria-label': 'Show'},
            ...MODES.slice(0, USUAL_MODES).map(mode => this.modeButton(mode, modes)),
            app.hasStacks() ? element('button', {class: 'mine', 'aria-pressed': String(app.menuOf.isMine()),
                title: 'The application without its standard library and run-time code: these count for their callers (c)',
                onclick: () => app.menuOf.toggleMine()}, 'my code') : null);
        this.problem = modes.size ? null : element('span', {class: 'warning', role: 'alert'},
            'These runs were recorded in modes that have nothing in common: they cannot be compared.');
        this.more = [event.calls ? null : element('div', {class: 'modes', role: 'group', 'aria-label': 'Show'},
            ...MODES.slice(USUAL_MODES).map(mode => this.modeButton(mode, modes))),
            element('label', {title: 'Names as the linker has them (n)'}, element('input', {type: 'checkbox', class: 'full-names',
                checked: state.fullNames, onchange: e => app.set({fullNames: e.target.checked})}), 'full names'),
            data.lanes.some(lane => lane[2]) ? element('label', {title: 'Threads that wait for work are left out (--idle)'}, element('input', {type: 'checkbox',
                class: 'idle', checked: state.idle, onchange: e => app.set({idle: e.target.checked})}), 'waits for work') : null].filter(Boolean);
        this.place([]);
        const swatch = color => ([kind, text, whole]) => element('span', {title: whole}, element('i', {style: `background:${color(kind)}`}), text);
        this.legend.replaceChildren(...(event.time === 'both' ? [element('span', {title: 'in the colours of its code'},
            element('i', {style: `background:${app.palette.kind('app', 0.4)}`}), 'on a CPU')] : event.time === 'off' ? []
            : STRIP_LEGEND.map(swatch(kind => app.palette.kind(kind, 0.4)))),
        ...(event.time === 'both' || event.time === 'off' ? WAIT_LEGEND.map(swatch(kind => app.palette.state(kind))) : []));
        this.chips.replaceChildren(...(state.slots ? [this.timeChip(run)] : []));
    }

    makeSelects(run, event) {
        const {app} = this, {state, data} = app;
        const several = data.runs.length > 1, any = [-1, 'all'];
        const eventsOf = index => [...data.events.keys()].filter(each => data.events[each].run === index);
        const choose = index => app.set({event: index, process: -1, thread: -1, slots: null, span: null, call: -1, zoom: [], function: -1, mode: null});
        const name = index => {
            const each = data.events[index];
            if (each.runs)
                return sideName(data, index);
            return shortLabel(data, data.runs[each.run].label) + (eventsOf(each.run).length > 1 ? ' · ' + each.name : '');
        };
        const ofRun = list => [...list.keys()].filter(index => list[index].run === event.run);
        // Of several processes with one number, one after the other, the second is 4242.1.
        const bearer = process => data.processes[process].bearer ? '.' + data.processes[process].bearer : '';
        const processes = ofRun(data.processes).map(index =>
            [index, `${data.processes[index].name || '?'} (${data.processes[index].pid}${bearer(index)})`]);
        const threads = data.threads.flatMap((thread, index) =>
            data.processes[thread.process].run === event.run && thread.samples &&
            (state.process < 0 || thread.process === state.process)
                ? [[index, `${thread.name || data.processes[thread.process].name || '?'} (${thread.tid}${bearer(thread.process)})`]] : []);
        const others = [...data.events.keys()].filter(index => index !== state.event);
        return [
            this.select('Run', event.runs ? data.runs.length + state.event : event.run, several ? [...data.runs.map((each, index) => [index, shortLabel(data, each.label)]),
                ...[...data.events.keys()].filter(index => data.events[index].runs).map(index => [data.runs.length + index, sideName(data, index)])] : [],
                index => index >= data.runs.length ? choose(index - data.runs.length) : eventsOf(index).length && choose(eventsOf(index)[0])),
            this.select('Event', state.event, event.runs ? [] : eventsOf(event.run).filter(index => !data.events[index].runs).sort((a, b) => !data.events[a].parts - !data.events[b].parts || a - b).map(index => [index, data.events[index].name]), choose),
            this.select(app.comparing ? 'vs' : 'Compared with', state.base, others.length ? [[-1, 'nothing'], ...others.map(index => [index, name(index)])] : [],
                base => app.set({base, tab: base < 0 ? state.tab : 'compare'})),
            this.select('Process', state.process, processes.length > 1 ? [any, ...processes] : [],
                process => app.set({process, thread: -1})),
            this.select('Thread', state.thread, threads.length > 1 ? [any, ...threads.slice(0, 2000)] : [],
                thread => app.set({thread})),
            this.phaseChoice(run),
        ];
    }

    select(label, value, options, change) {
        return options.length < 2 ? null : element('label', {}, label, element('select', {onchange: e => change(Number(e.target.value))},
            ...options.map(([key, text]) => element('option', {value: key, selected: key === value}, text))));
    }

    modeButton([mode, title, help], modes) {
        const {app} = this;
        const isMine = app.menuOf.isMine();
        return element('button', {'aria-pressed': String(app.state.mode === mode && !isMine), disabled: !modes.has(mode), 'data-mode': mode,
            title: modes.has(mode) ? help : 'A recording of this mode does not hold what that needs',
            onclick: () => isMine ? app.menuOf.change({mode, filters: withoutLibraries(app.state.filters)}) : app.set({mode, zoom: []})}, title);
    }

    // A phase is chosen as the slots that cover it best.
    phaseChoice(run) {
        const slotsOf = phase => {
            const first = Math.min(run.slots - 1, Math.round(phase.from / run.slotNs));
            return [first, Math.max(first + 1, Math.min(run.slots, Math.round(phase.to / run.slotNs)))];
        };
        const {slots} = this.app.state;
        const chosen = run.phases.findIndex(phase => slots && slotsOf(phase).join() === slots.join());
        return this.select('Phase', chosen, run.phases.length > 1 ? [[-1, 'all'], ...run.phases.map((phase, index) => [index,
            `${phase.number}${phase.mark ? ' · ' + phase.mark : ''} (${seconds(phase.from)} – ${seconds(phase.to)} s)`])] : [],
            index => this.app.set({slots: index < 0 ? null : slotsOf(run.phases[index])}));
    }

    timeChip(run) {
        const [from, to] = this.app.state.slots.map(slot => +(slot * run.slotNs / 1e9).toFixed(3));
        return element('button', {class: 'chip', title: `The same in a terminal: sprof report --time ${from},${to}`,
            'aria-label': 'Look at all of the time again', onclick: () => this.app.set({slots: null})}, `${from} – ${to} s  ✕`);
    }

    place(inMenu) {
        this.choices.replaceChildren(...[...this.selects.filter(each => !inMenu.includes(each)), this.segments, this.problem].filter(Boolean));
        this.menu.replaceChildren(element('summary', {}, 'More'), element('div', {}, ...inMenu, ...this.more));
        this.menu.classList.toggle('narrowed', inMenu.some(each => each.querySelector('select').selectedIndex > 0));
    }

    // Puts as many selects into the menu as have to go, those first that choose nothing. Where the line is too
    // short even without them, they stay.
    fit() {
        this.fitted = this.line.clientWidth;
        this.place([]);
        const gap = 12, style = getComputedStyle(this.line), width = each => each.getBoundingClientRect().width + gap;
        const fixed = width(this.menu) + gap + [this.segments, this.problem].filter(Boolean).reduce((sum, each) => sum + width(each), 0);
        const line = this.line.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - fixed;
        const beside = line - [...this.app.tabs.children].reduce((sum, tab) => sum + tab.getBoundingClientRect().width, 0), isAlone = matchMedia('(max-width: 660px)').matches || beside < 0;
        const room = isAlone ? line : beside; // alone: tabs have a line of their own
        const isChosen = each => each.querySelector('select').selectedIndex > 0;
        const order = [...this.selects].reverse().sort((a, b) => isChosen(a) - isChosen(b)), inMenu = [];
        let wanted = this.selects.reduce((sum, each) => sum + width(each), 0);
        while (wanted > room && inMenu.length < order.length) {
            wanted -= width(order[inMenu.length]);
            inMenu.push(order[inMenu.length]);
        }
        if (wanted <= room && inMenu.length)
            this.place(this.selects.filter(each => inMenu.includes(each)));
    }
}
