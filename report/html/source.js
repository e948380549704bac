// Source lines and instructions of the hottest functions. Their costs are of whole runs: the page holds
// them by line and instruction, but not by time and thread.

// What the page holds of one event: functions with lines and instructions, and what each cost.
function sourceEvent(data, event) {
    return data.events[event].runs ? data.events[event].parts.at(-1) : event;
}

// Of several runs together the newest one's.
function sourceOf(data, of) {
    const event = sourceEvent(data, of);
    data.sourceViews ||= new Map();
    if (data.sourceViews.has(event))
        return data.sourceViews.get(event);
    const partOf = index => data.runs[data.events[index].run].part;
    const source = data.sources[partOf(event)];
    if (!source || data.events[event].parts) // lines hold no sums of events, and waits for work are in them
        return null;
    const own = [...data.events.keys()].filter(index => partOf(index) === partOf(event)).indexOf(event);
    const byWeight = data.events[event].varying;
    const costs = at => row => ({self: row[at + (byWeight ? 1 : 0)], total: row[at + 2 + (byWeight ? 1 : 0)],
                                 samples: row[at], totalSamples: row[at + 2]});
    const view = {source, places: new Map()};
    view.functions = source.functions.map((entry, index) => {
        view.places.set(entry.function, index);
        return {...entry, lines: new Map(), costs: new Map()};
    });
    for (const row of source.events[own].lines)
        view.functions[row[0]].lines.set(row[1] + ':' + row[2],
            {...costs(4)(row), file: row[1], line: row[2], inlined: row[3] - 1});
    for (const row of source.events[own].code)
        view.functions[row[0]].costs.set(row[1], costs(2)(row));
    data.sourceViews.set(event, view);
    return view;
}

// A line of source with its comments, strings and keywords apart. What spans lines is not followed.
const SOURCE_TOKEN = new RegExp(String.raw`(//.*|/\*.*?(?:\*/|$))|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])')|\b(` + ('alignas auto bool break case catch char class const ' +
    'constexpr continue default delete do double else enum explicit extern false float fn for func go if impl in inline int let long match mod mut ' +
    'namespace new noexcept nullptr operator package private protected pub public range register return self short signed sizeof static struct super ' +
    'switch template this throw trait true try type typedef typename union unsigned use using var virtual void volatile where while').replace(/ /g, '|') + String.raw`)\b`, 'g');

function colored(text) {
    const parts = [];
    let at = 0;
    for (const match of text.matchAll(SOURCE_TOKEN)) {
        const kind = match[1] !== undefined ? 'comment' : match[2] !== undefined ? 'string' : 'word';
        parts.push(text.slice(at, match.index), element('span', {class: kind}, match[0]));
        at = match.index + match[0].length;
    }
    return element('span', {}, ...parts, text.slice(at));
}

const noCost = {self: 0, total: 0, samples: 0, totalSamples: 0};

// The lines of a function: stretches of its files with gaps where nothing is known of them.
function sourceRows(data, view, entry) {
    const rows = [];
    for (const [file, first, last] of entry.ranges) {
        const info = view.source.files[file - 1], texts = new Map();
        for (const [from, lines] of info.parts || [])
            lines.forEach((text, i) => texts.set(from + i, text));
        rows.push({heading: info.path, note: info.note});
        let gap = false;
        for (let line = first; line <= last; line++) {
            const cost = entry.lines.get(file + ':' + line);
            if (!cost && !texts.has(line)) {
                gap = true;
                continue;
            }
            if (gap && rows[rows.length - 1].line)
                rows.push({gap: true});
            gap = false;
            rows.push({...(cost || noCost), file, line, text: texts.get(line) ?? '',
                       inlined: cost && cost.inlined >= 0 ? cost.inlined : -1});
        }
    }
    return rows;
}

// The shown name of a function that is known by its full one.
function shownFor(data, name) {
    data.byName ||= new Map(data.functions.names.map((each, fn) => [each, fn]));
    return data.functions.shown[data.byName.get(name)] ?? name;
}

function codeRows(data, view, entry) {
    const {source} = view, rows = [];
    let address = parseInt(entry.start, 16), before = '';
    const place = (file, line) => file ? source.files[file - 1].path.replace(/.*\//, '') + ':' + line : '';
    entry.code.forEach(([step, text, file, line, inlined, innerFile, innerLine], index) => {
        address += step;
        const from = inlined ? `${place(innerFile, innerLine)} inlined ${shownFor(data, source.names[inlined - 1])}` : place(file, line);
        rows.push({...(entry.costs.get(index) || noCost), address, text, file, line, inlined: Boolean(inlined),
                   from: from === before ? '' : from, origin: from});
        before = from;
    });
    return rows;
}

class SourceView {
    constructor(app, host) {
        this.note = element('div', {class: 'bar-line muted'});
        this.functions = app.data.functions;
        const list = element('section', {class: 'source-list'}), panes = element('section', {class: 'source-panes'});
        host.append(this.note, element('div', {class: 'source'}, list, panes));
        this.title = element('div', {class: 'source-title'});
        const source = element('section', {}), code = element('section', {});
        this.sourceNote = element('p', {class: 'muted note'});
        this.codeNote = element('p', {class: 'muted note'});
        this.panes = element('div', {class: 'split'}, source, code);
        panes.append(this.title, this.panes);
        source.append(element('h3', {}, 'Source'), this.sourceNote);
        code.append(element('h3', {}, 'Instructions'), this.codeNote);
        const share = (title, pick, help) => ({title, number: true, width: '68px', help,
            bar: row => this.total ? (pick(row) || 0) / this.total : 0,
            text: row => pick(row) ? formatPercent(pick(row), this.total, this.samples) : ''});
        const costs = [share('self', row => row.self, 'of all samples of the run, those in this line itself'),
                       share('total', row => row.total, '… and those in what it calls')];
        this.list = new Table(list, [
            {title: 'function', class: 'name', width: 'minmax(16ch, 1fr)', text: row => functionName(app, row.id, this.alike, this.alikeIn),
                tip: row => app.data.functions.names[row.id] + ' · ' + moduleName(app, row.id)},
            ...costs], {chosen: row => app.set({function: row.id}), opened: row => app.openFunction(row.id)});
        this.lines = new Table(source, [...costs,
            {title: 'line', number: true, width: '58px', class: 'faint', text: row => row.line || ''},
            {title: 'code', class: 'code', width: 'minmax(50ch, 1fr)', text: row => this.lineText(row),
                tip: row => row.inlined >= 0 ? `inlines ${app.data.functions.names[row.inlined]}` : row.text}],
            {chosen: row => this.link(row, this.code)});
        this.codeColumns = [...costs,
            {title: 'address', width: '96px', class: 'code faint', text: row => row.address.toString(16)},
            {title: 'instruction', class: 'code', width: 'minmax(34ch, 1fr)', text: row => this.codeText(row), tip: row => row.text},
            {title: 'from', width: 'minmax(22ch, 0.6fr)', class: 'faint', text: row => row.from, tip: row => row.origin}];
        this.code = new Table(code, this.codeColumns, {chosen: row => this.link(row, this.lines)});
    }

    lineText(row) {
        if (row.heading)
            return element('span', {class: 'file'}, row.heading);
        if (row.gap)
            return '⋯';
        return element('span', {}, colored(row.text), row.inlined >= 0 ? element('span', {class: 'tag'}, 'inlines ' + this.functions.shown[row.inlined]) : null);
    }

    codeText(row) {
        const [, name, rest] = /^(\S+)(.*)$/.exec(row.text) || ['', row.text, ''];
        const kind = /^(call|ret)/.test(name) ? 'call' : /^j/.test(name) ? 'jump' : '';
        return element('span', {class: row.inlined ? 'inlined' : null}, element('b', {class: kind}, name), rest);
    }

    // Marks in the other pane what belongs to the row's line.
    link(row, other) {
        for (const table of [this.lines, this.code])
            table.isMarked = row.line ? each => each.line === row.line && each.file === row.file : null;
        const at = row.line ? other.rows.findIndex(other.isMarked) : -1;
        if (at >= 0)
            other.reveal(at);
        this.lines.paint();
        this.code.paint();
    }

    draw(app) {
        const {state, data} = app, view = sourceOf(data, state.event), whole = app.wholeProfile();
        Object.assign(this, {total: whole.total, samples: whole.costs.samples[0]});
        const costs = whole.functions(), hit = app.match?.hit;
        const value = fn => ({self: whole.pickSelf(costs)[fn], total: whole.pick(costs)[fn]});
        const rows = [...view.places.keys()].map(id => ({id, ...value(id)}))
            .filter(row => row.total && (!hit || hit[row.id])).sort((a, b) => b.self - a.self || b.total - a.total);
        const hasText = ({id}) => view.functions[view.places.get(id)].ranges.some(([file]) => view.source.files[file - 1].parts?.length);
        const fn = state.function >= 0 || !rows.length ? state.function : (rows.find(hasText) || rows[0]).id;
        this.alike = namesakes(data, rows.map(row => row.id));
        this.alikeIn = placesOf(data, rows.map(row => row.id));
        this.list.show(rows);
        this.list.at = rows.findIndex(row => row.id === fn);
        this.list.paint();
        this.note.replaceChildren(element('span', {}, `${formatCount(rows.length)} hottest functions. ` +
            (app.narrowed() ? 'Costs here are of the whole run, not of the selected threads and time.'
                      : 'A click on a line shows its instructions, and the other way round.')));
        const key = `${state.event} ${fn} ${state.fullNames}`;
        if (this.key === key)
            return;
        this.key = key;
        const entry = view.functions[view.places.get(fn)];
        this.panes.hidden = !entry;
        if (fn < 0 || !entry) {
            this.title.replaceChildren(element('p', {class: 'empty'}, fn < 0 ? 'No function of this run has a source or code to show.'
                : `${data.functions.names[fn]} is not among the hottest functions, of which the page holds source and instructions. ` +
                  `\`sprof annotate '${data.functions.names[fn]}'\` shows it.`));
            return;
        }
        this.show(app, view, entry, value(fn));
    }

    show(app, view, entry, cost) {
        const {data} = app, fn = entry.function, file = data.files[data.functions.file[fn]];
        this.title.replaceChildren(element('b', {title: data.functions.names[fn]}, data.functions.shown[fn]),
            element('span', {class: 'muted'}, moduleName(app, fn) + (file ? ` · ${file}:${data.functions.line[fn]}` : '')),
            element('span', {}, `self ${formatPercent(cost.self, this.total, this.samples)} · total ` +
                formatPercent(cost.total, this.total, this.samples)),
            element('button', {class: 'chip', onclick: () => app.openFunction(fn)}, 'callers & callees'));
        const lines = sourceRows(data, view, entry), code = codeRows(data, view, entry);
        const notes = lines.filter(row => row.note).map(row => row.note);
        this.sourceNote.textContent = lines.length ? notes.join(' ') : 'There is no debug information about source lines of this function.';
        this.codeNote.textContent = entry.note || (code.length ? '' : 'Its instructions could not be read.');
        this.code.all = code.some(row => row.from) ? this.codeColumns : this.codeColumns.slice(0, -1);
        // Long lines are as wide as they are: the pane scrolls.
        const longest = lines.reduce((most, row) => Math.max(most, (row.text || '').length + (row.inlined >= 0 ? 24 : 0)), 50);
        this.lines.all[this.lines.all.length - 1].width = `minmax(${Math.min(longest + 3, 400)}ch, 1fr)`;
        this.lines.chooseColumns();
        this.code.chooseColumns();
        for (const [table, rows] of [[this.lines, lines], [this.code, code]]) {
            table.isMarked = null;
            table.at = -1;
            table.scroller.hidden = !rows.length;
            table.scroller.parentElement.classList.toggle('brief', !rows.length);
            table.show(rows);
            let hottest = -1;
            rows.forEach((row, i) => hottest = row.self > (rows[hottest]?.self || 0) ? i : hottest);
            table.reveal(Math.max(0, hottest));
        }
    }
}
