// Which functions of a run were called, where nothing else was looked for.

class CoverageView {
    constructor(app, host) {
        this.line = element('div', {class: 'bar-line'});
        host.append(this.line);
        const called = row => row.first === null ? -1 : row.first;
        this.table = new Table(host, [
            {key: 'name', title: 'function', class: 'name', width: 'minmax(30ch, 2fr)', value: row => app.state.fullNames ? row.full : row.name,
                needs: row => 22 + 7.3 * (row.name.length - row.last + (row.last ? 2 : 0)),
                text: row => app.state.fullNames ? nameElement(row.full, row.lastOfFull) : nameElement(row.name, row.last), tip: row => row.full},
            {key: 'first', title: 'first call', number: true, width: '110px', value: called, help: 'since the start of the run',
                text: row => row.first === null ? element('span', {class: 'warning'}, 'not called') : formatTime(row.first)},
            {key: 'module', title: 'module', rank: 2, width: 'minmax(6rem, 14rem)', value: row => row.module, text: row => row.module},
            {key: 'place', title: 'declared at', rank: 1, class: 'name', width: 'minmax(22ch, 1.2fr)', value: row => `${row.file}:${String(row.line).padStart(7)}`,
                text: row => row.file ? nameElement(row.file, row.file.lastIndexOf('/') + 1, element('span', {class: 'whole'}, ':' + row.line)) : '', tip: row => row.file},
        ], {});
    }

    draw(app) {
        const {functions, called, rows} = app.coverage(), choice = app.state.covered;
        const wanted = choice === 'all' ? rows : rows.filter(row => (row.first === null) === (choice === 'missed'));
        const text = app.state.search.toLowerCase();
        const found = wanted.filter(row => !text || row.full.toLowerCase().includes(text) || row.name.toLowerCase().includes(text));
        this.line.replaceChildren(
            element('span', {}, element('b', {}, `${formatCount(called)} of ${formatCount(functions)}`),
                ` functions were called (${(100 * called / functions).toFixed(1)} %)`),
            segments([['all', 'All'], ['missed', 'Not called'], ['called', 'Called']], choice, covered => app.set({covered})),
            ...(rows.length < functions ? [element('span', {class: 'muted'}, `the page holds ${formatCount(rows.length)} of them: sprof stats --coverage shows all`)] : []));
        this.table.show(found);
    }
}
