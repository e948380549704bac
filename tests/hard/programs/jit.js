// Work that the just-in-time compiler translates: names that only a perf map can tell.
'use strict';
function jitLeaf(turns) {
  let sum = 0;
  for (let i = 0; i < turns; i++) sum = (sum * 3 + i) | 0;
  return sum;
}
function jitMiddle(turns, kind) {
  return kind ? jitLeaf(turns) + 1 : jitLeaf(turns) - 1;
}
function jitRecurse(depth, turns) {
  return depth > 1 ? jitRecurse(depth - 1, turns) + 1 : jitMiddle(turns, depth);
}
let sum = 0;
const end = Date.now() + 2500;
while (Date.now() < end) {
  sum += jitRecurse(30, 20000);
  sum += [3, 1, 2, 5, 4].sort((a, b) => jitMiddle(100, a) * 0 + a - b)[0];
}
console.error(sum);
