// Colours tell what kind of code a function is: the application warm, system libraries blue, the
// kernel violet, run-time code green. Neighbouring modules differ in shade.

function hash(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++)
        h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return h >>> 0;
}

// Red, green and blue, up to 255, of a colour "hsl(hue saturation% lightness%)".
function rgbOf(color) {
    const [hue, saturation, lightness] = color.match(/[\d.]+/g).map(Number), most = saturation / 100 * Math.min(lightness, 100 - lightness) / 100;
    return [0, 8, 4].map(n => {
        const k = (n + hue / 30) % 12;
        return 255 * (lightness / 100 - most * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
    });
}

const KIND_HUES = {app: [25, 30], system: [206, 30], kernel: [276, 26], jit: [136, 30], none: [0, 0]};

class Palette {
    constructor(data) {
        this.data = data;
        this.dark = false;
        this.cache = [];
    }

    setTheme(dark) {
        this.dark = dark;
        this.cache = [];
        const style = getComputedStyle(document.documentElement);
        for (const name of ['ink', 'paper', 'muted', 'line', 'accent', 'mark', 'raised', 'sans', 'mono'])
            this[name] = style.getPropertyValue('--' + name).trim();
    }

    kind(kind, shade = 0.5) {
        const [hue, spread] = KIND_HUES[kind] || KIND_HUES.none;
        const saturation = kind === 'none' ? 0 : kind === 'app' ? 82 : 52;
        const darkest = {system: 27, kernel: 31}[kind] || 21;
        const lightness = this.dark ? darkest + 8 * shade : 66 + 14 * shade;
        return `hsl(${hue + spread * (shade - 0.5)} ${saturation}% ${lightness}%)`;
    }

    // Of threads that are ready without a CPU, and of those that wait.
    state(state) {
        return state === 'ready' ? (this.dark ? 'hsl(46 60% 34%)' : 'hsl(46 82% 66%)') : this.dark ? 'hsl(218 11% 33%)' : 'hsl(218 13% 76%)';
    }

    // Of [[state, share]]. Small shares show, too: where all wait most of the time, what they do else is how they differ.
    mixed(shares) {
        const parts = shares.map(([state, share]) => [rgbOf(state === 'run' ? this.kind('app', 0.4) : this.state(state)), Math.sqrt(Math.max(0, share))]);
        const sum = parts.reduce((total, [, part]) => total + part, 0) || 1;
        return `rgb(${[0, 1, 2].map(i => Math.round(parts.reduce((total, [color, part]) => total + color[i] * part, 0) / sum)).join(' ')})`;
    }

    function(fn) {
        if (fn < 0)
            return this.raised;
        return this.cache[fn] ||= (() => {
            const module = this.data.modules[this.data.functions.module[fn]];
            const own = hash(this.data.functions.names[fn]) % 1000 / 1000;
            const shared = hash(module.name) % 1000 / 1000;
            return this.kind(module.kind, 0.6 * shared + 0.4 * own);
        })();
    }

    // Red for more, blue for less, of a change between −1 and 1; new and gone are shades of their own of these.
    change(change, state) {
        if (state === 'new')
            return this.dark ? 'hsl(350 62% 38%)' : 'hsl(348 78% 70%)';
        if (state === 'gone')
            return this.dark ? 'hsl(228 52% 44%)' : 'hsl(228 74% 77%)';
        const strength = Math.min(1, Math.sqrt(Math.abs(change)));
        if (strength < 0.02)
            return this.raised;
        const hue = change > 0 ? 8 : 214;
        return this.dark ? `hsl(${hue} ${70 * strength}% ${22 + 16 * strength}%)`
                         : `hsl(${hue} ${80 * strength}% ${92 - 26 * strength}%)`;
    }
}
