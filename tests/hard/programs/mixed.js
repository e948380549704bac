// Many of node's own parts at work: the compiler, the regular expressions, JSON, sorting, zlib.
'use strict';
const zlib = require('zlib');
const end = Date.now() + 4000;
let sum = 0;
for (let round = 0; Date.now() < end; round++) {
  const rows = Array.from({length: 300}, (_, i) => ({id: (i * 7919) % 1009, text: 'row ' + i}));
  rows.sort((a, b) => a.id - b.id);
  const text = JSON.stringify(rows);
  sum += JSON.parse(text.replace(/row (\d+)/g, (all, n) => 'r' + n * 2)).length;
  sum += zlib.deflateSync(text).length;
  sum += new Function('x', `return x.map(v => v.id % ${round % 17 + 1}).length`)(rows);
}
console.error(sum);
