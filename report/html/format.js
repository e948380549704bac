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

// A length of time that was chosen: a round number.
const formatSpan = ns => formatTime(ns).replace(/\.0+ /, ' ');

function formatSeconds(ns) {
    return (ns / 1e9).toFixed(ns < 10e9 ? 1 : 0) + ' s';
}

// Full names of functions, or the short ones that no two functions share.
function chooseNames(data, full) {
    const {functions} = data;
    functions.shown = full ? functions.names : functions.short;
    functions.last = full ? functions.lastOfFull : functions.lastOfShort;
}

// A moment on an axis, as exactly as steps of so many nanoseconds need.
function formatMoment(ns, stepNs) {
    return (ns / 1e9).toFixed(Math.max(0, 9 - Math.floor(Math.log10(stepNs) + 1e-9))) + ' s';
}

// A name whose scopes give way when there is no room, its last component last.
function nameElement(name, last, ...more) {
    return element('span', {class: 'cut'}, last ? element('span', {class: 'scopes'}, name.slice(0, last)) : null,
        element('span', {class: 'last'}, name.slice(last)), ...more);
}

// At most so many characters of a name: its scopes are cut first, what they begin with stays.
function cutName(name, last, most) {
    if (name.length <= most)
        return name;
    const end = name.slice(last);
    if (end.length > most)
        return most < 3 ? '' : end.slice(0, most - 1) + '…';
    const room = most - end.length - 1;
    return room > 3 ? name.slice(0, room) + '…' + end : end;
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
