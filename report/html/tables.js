// Tables of any length: only the rows in sight exist. A column is {key, title, number, text, bar, rank};
// where there is no room for all, those of the highest rank go first. What a column of names `needs`, in pixels
// for a row, it has before bars have room. A column that `fits` a text of a row is no wider than the longest.

const TABLE_ROW = 22;
const PRINTED_ROWS = 400; // of a table: about ten pages of paper

// Whether the page is being laid out for paper, where nobody scrolls.
let printing = false;

class Table {
    constructor(host, columns, actions) {
        this.all = columns;
        this.actions = actions;
        this.sortKey = columns.find(column => column.sorted)?.key;
        this.descending = true;
        this.head = element('div', {class: 'row head', role: 'row'});
        this.body = element('div', {class: 'rows'});
        this.scroller = element('div', {class: 'table', role: 'grid', tabindex: 0},
                                this.head, this.body);
        host.append(this.scroller);
        this.scroller.addEventListener('scroll', () => this.paint());
        this.scroller.addEventListener('keydown', event => this.key(event));
        this.scroller.addEventListener('contextmenu', event => {
            const at = event.target.closest('.rows .row')?.getAttribute('aria-rowindex') - 2, row = this.rows[at] || this.rows[this.at];
            if (row)
                this.actions.menu?.(event, row);
        });
        this.rows = [];
        this.needed = 0;
        this.at = -1;
        new ResizeObserver(() => {
            this.chooseColumns();
            this.findNeeded();
            this.paint();
        }).observe(this.scroller);
        this.chooseColumns();
    }

    // On a narrow window a name needs less room than the numbers beside it.
    chooseColumns() {
        const room = this.scroller.clientWidth || Infinity, units = {px: 1, ch: 7.3, rem: 16};
        const narrow = room < 620, widthOf = column => narrow && column.bar ? '76px' : column.fitted || column.width || 'minmax(8rem, 1fr)';
        this.scroller.classList.toggle('narrow', narrow);
        const least = column => {
            const [, number, unit] = /([\d.]+)(px|ch|rem)/.exec(widthOf(column));
            return unit === 'ch' && narrow && column.class !== 'code' ? Math.min(Math.max(130, 0.38 * room), number * units.ch) : number * units[unit];
        };
        const sum = columns => columns.reduce((total, column) => total + least(column), 0);
        this.columns = this.all.filter(column => !column.absent?.());
        for (let rank = 4; rank > 0 && sum(this.columns) > room; rank--)
            this.columns = this.columns.filter(column => column.rank !== rank);
        this.lacksModules = !this.columns.some(column => column.title === 'module');
        const begin = this.shareRoom(room, least, narrow);
        this.scroller.style.setProperty('--columns', this.columns.map(column => column.bar ? begin(column) + 'px'
            : widthOf(column).replace(/minmax\([^,]*/, `minmax(${begin(column)}px`)).join(' '));
        this.scroller.style.setProperty('--least', sum(this.columns) + 'px');
        this.paintHead();
    }

    // The width that a column has at least. Of one with a bar the title with its arrow, and the longest number,
    // stay in any case.
    shareRoom(room, least, narrow) {
        const names = this.columns.find(column => column.needs), others = this.columns.filter(column => column !== names);
        const spare = column => column.bar && !narrow ? Math.max(0, least(column) - Math.max(72, 34 + 6.4 * column.title.length)) : 0;
        const sum = of => others.reduce((total, column) => total + of(column), 0);
        const free = room - sum(least), lacking = names ? Math.max(0, this.needed - free) : 0;
        const taken = Math.min(1, lacking / (sum(spare) || 1));
        return column => column === names ? Math.max(least(column), Math.min(this.needed, free + taken * sum(spare)))
            : least(column) - taken * spare(column);
    }

    paintHead() {
        const {by, descending} = this.sorting();
        this.head.replaceChildren(...this.columns.map(column => {
            const sorted = column === by;
            const mark = sorted ? (descending ? ' ↓' : ' ↑') : '';
            return element('button', {
                class: 'cell' + (column.number ? ' number' : ''), role: 'columnheader',
                'aria-sort': sorted ? (descending ? 'descending' : 'ascending') : 'none',
                title: column.help, disabled: !column.key,
                onclick: () => this.sortBy(column.key),
            }, column.title + mark);
        }));
    }

    sortBy(key) {
        if (!key)
            return;
        this.descending = this.sortKey === key ? !this.descending : true;
        this.sortKey = key;
        this.paintHead();
        this.sort();
        this.paint();
        this.actions.sorted?.(key, this.descending);
    }

    // The column that the rows are sorted by. Where the chosen one is absent, that is the first choice of the table;
    // one without room still sorts.
    sorting() {
        const chosen = this.all.find(column => column.key && column.key === this.sortKey);
        return chosen?.absent?.() ? {by: this.all.find(column => column.sorted), descending: true} : {by: chosen, descending: this.descending};
    }

    sort() {
        const {by: column, descending} = this.sorting();
        if (!column?.value)
            return;
        const sign = descending ? -1 : 1;
        this.rows.sort((a, b) => {
            const x = column.value(a), y = column.value(b);
            return (x < y ? -sign : x > y ? sign : 0) || (a.order - b.order);
        });
    }

    show(rows) {
        this.rows = rows;
        rows.forEach((row, index) => row.order = index);
        this.findNeeded();
        this.sort();
        this.at = Math.min(this.at, rows.length - 1);
        this.paint();
    }

    // Tags of modules depend on the columns.
    findNeeded() {
        const fitted = this.all.filter(column => column.fits && this.rows.length).filter(column => {
            const [, least, most] = /minmax\((\d+)rem, (\d+)rem\)/.exec(column.width).map(rem => 16 * rem), had = column.fitted;
            const longest = this.rows.reduce((sum, row) => Math.max(sum, column.fits(row).length), column.title.length), wanted = 24 + 7 * longest;
            column.fitted = `minmax(${Math.min(least, wanted)}px, ${Math.min(most, wanted)}px)`;
            return column.fitted !== had;
        });
        const names = this.all.find(column => column.needs);
        // Names that are too long in any case take the room of no bars.
        const most = Math.max(440, 0.36 * this.scroller.clientWidth);
        const needed = names ? this.rows.map(row => names.needs(row)).reduce((sum, need) => need > most ? sum : Math.max(sum, need), 0) : 0;
        if (needed === this.needed && !fitted.length)
            return;
        this.needed = needed;
        this.chooseColumns();
    }

    paint() {
        const [first, last] = this.rowsInSight(), made = [];
        this.body.style.height = this.rows.length * TABLE_ROW + 'px';
        for (let i = first; i < last; i++)
            made.push(this.paintRow(this.rows[i], i));
        this.scroller.setAttribute('aria-rowcount', this.rows.length + 1);
        if (!this.rows.length)
            made.push(element('p', {class: 'empty'}, this.actions.empty || 'nothing to show'));
        else if (printing && last < this.rows.length)
            made.push(element('p', {class: 'more'},
                `… ${formatCount(this.rows.length - last)} more rows`));
        this.body.replaceChildren(...made);
    }

    rowsInSight() {
        if (printing)
            return [0, Math.min(this.rows.length, PRINTED_ROWS)];
        const {scrollTop, clientHeight} = this.scroller;
        const first = Math.max(0, Math.floor(scrollTop / TABLE_ROW) - 4);
        return [first, Math.min(this.rows.length, first + Math.ceil(clientHeight / TABLE_ROW) + 10)];
    }

    paintRow(row, index) {
        const cells = this.columns.map(column => {
            const cell = element('div', {
                class: 'cell' + (column.number ? ' number' : '') + (column.class ? ' ' + column.class : '') +
                    (column.faint?.(row) ? ' faint' : ''),
                role: 'gridcell', title: column.tip ? column.tip(row) : null,
            });
            const content = column.text(row);
            if (column.bar) {
                const share = Math.max(0, Math.min(1, column.bar(row)));
                cell.style.setProperty('--share', share.toFixed(4));
                cell.classList.add('bar');
            }
            cell.append(content instanceof Node ? content : String(content));
            return cell;
        });
        const made = element('div', {
            class: 'row' + (index === this.at ? ' current' : '') + (row.dim ? ' dim' : '') +
                (this.isMarked?.(row) ? ' linked' : ''),
            role: 'row', 'aria-rowindex': index + 2, 'aria-selected': String(index === this.at), style: `top:${index * TABLE_ROW}px`,
            onclick: () => {
                this.at = index;
                this.actions.chosen?.(row, index);
                this.paint();
            },
            ondblclick: () => this.actions.opened?.(row, index),
        }, ...cells);
        return made;
    }

    move(to) {
        this.at = Math.max(0, Math.min(this.rows.length - 1, to));
        const y = this.at * TABLE_ROW, {scrollTop, clientHeight} = this.scroller;
        if (y < scrollTop)
            this.scroller.scrollTop = y;
        else if (y + 2 * TABLE_ROW > scrollTop + clientHeight)
            this.scroller.scrollTop = y + 2 * TABLE_ROW - clientHeight;
        this.paint();
    }

    // Brings a row to the middle.
    reveal(index) {
        this.scroller.scrollTop = index * TABLE_ROW - this.scroller.clientHeight / 2 + TABLE_ROW;
        this.paint();
    }

    key(event) {
        const page = Math.floor(this.scroller.clientHeight / TABLE_ROW) - 1;
        const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                       Home: -Infinity, End: Infinity};
        if (event.key in steps)
            this.move(this.at + steps[event.key]);
        else if (event.key === 'Enter' && this.rows[this.at])
            this.actions.opened?.(this.rows[this.at], this.at);
        else if (this.rows[this.at] && this.actions.key?.(event, this.rows[this.at], this.at))
            ;
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}

// A table whose rows are the open entries of a lazy tree. Chains in which an only child has nearly
// all of its parent's cost open together.
class TreeTable {
    constructor(host, columns, actions) {
        this.actions = actions;
        const name = columns.find(column => column.class === 'name');
        const text = name.text;
        name.text = row => this.nameCell(row, text(row));
        this.table = new Table(host, columns, {
            empty: actions.empty,
            chosen: (row, index) => actions.chosen?.(row.entry, index),
            opened: row => actions.openFunction?.(row.entry.function),
            menu: actions.menu,
            key: (event, row, index) => this.key(event, row, index),
        });
        this.table.scroller.setAttribute('role', 'treegrid');
    }

    nameCell(row, text) {
        const state = !row.entry.children().length ? '' : row.open ? '▾' : '▸';
        const indent = row.level <= 24 ? row.level : 24;
        return element('span', {class: 'tree-name', style: `padding-left:calc(${indent} * var(--indent))`},
            element('span', {class: 'twist', onclick: event => {
                event.stopPropagation();
                this.toggle(row);
            }}, state),
            row.level > 24 ? element('span', {class: 'muted'}, `${row.level} `) : null, text);
    }

    show(roots) {
        this.rows = roots.map(entry => ({entry, level: 0, open: false}));
        if (this.rows.length)
            this.openHot(this.rows[0], 12);
        this.refresh();
    }

    hide(hidden) {
        this.table.scroller.hidden = hidden;
    }

    refresh() {
        this.table.rows = this.rows;
        this.table.findNeeded();
        this.table.paint();
    }

    open(row) {
        const at = this.rows.indexOf(row), kids = row.entry.children();
        if (row.open || !kids.length)
            return;
        row.open = true;
        this.rows.splice(at + 1, 0, ...kids.filter(entry => entry.value || entry.samples)
            .map(entry => ({entry, level: row.level + 1, open: false})));
    }

    close(row) {
        const at = this.rows.indexOf(row);
        let end = at + 1;
        while (end < this.rows.length && this.rows[end].level > row.level)
            end++;
        this.rows.splice(at + 1, end - at - 1);
        row.open = false;
    }

    // Follows the largest child as long as it has at least half of its parent.
    openHot(row, most) {
        for (let i = 0; row && i < most; i++) {
            this.open(row);
            const next = this.rows[this.rows.indexOf(row) + 1];
            if (!next || next.level <= row.level || next.entry.value < 0.5 * row.entry.value)
                return;
            row = next;
        }
    }

    toggle(row) {
        if (row.open)
            this.close(row);
        else {
            this.open(row);
            const only = this.rows[this.rows.indexOf(row) + 1];
            if (only && only.level > row.level && only.entry.value >= 0.98 * row.entry.value)
                this.openHot(only, 32);
        }
        this.refresh();
    }

    key(event, row, index) {
        if (event.key === 'ArrowRight') {
            if (row.open)
                this.table.move(index + 1);
            else
                this.toggle(row);
        } else if (event.key === 'ArrowLeft') {
            if (row.open)
                this.toggle(row);
            else
                for (let i = index; i >= 0; i--)
                    if (this.rows[i].level < row.level) {
                        this.table.move(i);
                        break;
                    }
        } else if (event.key === '*') {
            this.openHot(row, 200);
            this.refresh();
        } else {
            return false;
        }
        return true;
    }
}
