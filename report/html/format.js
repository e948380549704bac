// Numbers and names as text.

const grouped = new Intl.NumberFormat('en-US').format;
const formatCount = n => grouped(n).replace(/,/g, '\u202f');

function formatTime(ns) {
    if (ns >= 100e9)
        return (ns / 1e9).toFixed(0) + ' s';
    if (ns >= 1e9)
        return (ns / 1e9).toFixed(2) + ' s';
    if (ns >= 1e6)
        return (ns / 1e6).toFixed(1) + ' ms';
    if (ns >= 1e3)
        return (ns / 1e3).toFixed(1) + ' µs';
    return ns.toFixed(0) + ' ns';
}

// Whole percents below a thousand samples, one decimal above, as in the text reports.
function formatPercent(part, whole, samples) {
    if (!whole)
        return '–';
    return (100 * part / whole).toFixed(samples >= 1000 ? 1 : 0) + ' %';
}

function formatSeconds(ns) {
    return (ns / 1e9).toFixed(ns < 10e9 ? 1 : 0) + ' s';
}

// The name without the parameters and template arguments of its outermost level.
const shortNames = new Map();
function shortName(name) {
    if (!shortNames.has(name))
        shortNames.set(name, makeShortName(name));
    return shortNames.get(name);
}

function makeShortName(name) {
    let depth = 0, short = '';
    for (const c of name.replace(/\boperator(<<=?|<=>|<=?|>>=?|->\*?|>=?|\(\))/g, m => m.replace(/[<>()]/g,
             x => ({'<': '\u0001', '>': '\u0002', '(': '\u0003', ')': '\u0004'})[x]))) {
        if (c === '<' || c === '(')
            depth++;
        if (!depth)
            short += c;
        if (c === '>' || c === ')')
            depth = Math.max(0, depth - 1);
    }
    short = short.replace(/[\u0001-\u0004]/g, x => '<>()'[x.charCodeAt(0) - 1]).trim();
    return short.length >= 3 ? short : name;
}

function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith('on'))
            made.addEventListener(name.slice(2), value);
        else if (value === true)
            made.setAttribute(name, '');
        else if (value !== false && value !== null && value !== undefined)
            made.setAttribute(name, value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
}
