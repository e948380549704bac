// The source lines that cost most in the whole run.

const OTHERS_FILES = /^\/(usr\/(include|lib|src|share)|rustc)\//; // also of what is inlined from there

class LinesView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        const share = (key, title) => ({key, title, number: true, width: '126px', sorted: key === 'exclusive_percent', value: row => row[key],
            bar: row => row[key] / this.most[key], faint: row => !row[key], text: row => `${row[key].toFixed(1)} %`});
        const name = row => row.id === undefined ? row.function : functionName(app, row.id);
        this.table = new Table(host, [
            {key: 'place', title: 'line', class: 'name', width: 'minmax(24ch, 2fr)', value: row => `${row.file}:${String(row.line).padStart(7)}`,
                text: row => nameElement(row.file, row.file.lastIndexOf('/') + 1, element('span', {class: 'whole'}, ':' + row.line)), tip: row => `${row.file}:${row.line}`},
            share('exclusive_percent', 'self'), share('inclusive_percent', 'total'),
            {key: 'function', title: 'function', rank: 1, class: 'name', width: 'minmax(24ch, 2fr)', value: row => row.function, text: name, tip: row => row.function},
            {key: 'module', title: 'module', rank: 2, width: 'minmax(6rem, 11rem)', value: row => row.module, fits: row => row.module, text: row => row.module},
        ], {opened: row => this.open(app, row), menu: (event, row) => row.id !== undefined && app.menuOf.open(event, row.id)});
    }

    open(app, {id}) {
        if (id !== undefined && app.views.some(view => view.id === 'source' && view.when(app)) && sourceOf(app.data, app.state.event)?.places.has(id))
            app.set({tab: 'source', function: id});
        else if (id !== undefined)
            app.openFunction(id);
    }

    draw(app) {
        const {data, state} = app, {names, module} = data.functions, table = app.lines();
        if (this.text !== table) {
            this.text = table;
            const known = new Map(names.map((name, fn) => [`${name}\0${data.modules[module[fn]].name}`, fn]));
            this.rows = JSON.parse(table).rows.filter(row => row.file && row.line).map(row => ({...row, id: known.get(`${row.function}\0${row.module}`)}));
        }
        const isMine = row => row.id !== undefined && data.modules[module[row.id]].kind === 'app' && !OTHERS_FILES.test(row.file);
        const text = state.search.toLowerCase(), hit = app.match?.hit, mine = state.mineLines;
        const rows = this.rows.filter(row => (!mine || isMine(row)) && (!text || hit?.[row.id] || row.file.toLowerCase().includes(text)));
        const most = key => rows.reduce((sum, row) => Math.max(sum, row[key]), 0) || 1;
        this.most = {exclusive_percent: most('exclusive_percent'), inclusive_percent: most('inclusive_percent')};
        this.line.replaceChildren(segments([[false, 'All files'], [true, 'My files']], mine, mineLines => app.set({mineLines})),
            element('span', {class: 'muted'}, 'of the whole run, as sprof report --lines · double click shows the source'));
        this.table.show(rows);
    }
}
