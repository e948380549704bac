// Which cells of the recording a selection holds, and what they cost together.

// The index of the first cell of each lane, once; cells are sorted by lane and slot.
function laneStarts(data) {
    if (!data.laneStarts) {
        data.laneStarts = new Uint32Array(data.lanes.length + 1).fill(data.cells.count);
        for (let i = data.cells.count - 1; i >= 0; i--)
            data.laneStarts[data.cells.lane[i]] = i;
        for (let i = data.lanes.length - 1; i >= 0; i--)
            data.laneStarts[i] = Math.min(data.laneStarts[i], data.laneStarts[i + 1]);
    }
    return data.laneStarts;
}

function firstAtSlot(slots, low, high, slot) {
    while (low < high) {
        const middle = (low + high) >> 1;
        if (slots[middle] < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A lane is an event and a thread; a selection chooses lanes and a range of slots.
function laneIsSelected(data, lane, selection) {
    const [event, thread, idle] = data.lanes[lane];
    return (event === selection.event || Boolean(data.events[selection.event].parts?.includes(event))) &&
           (!idle || showsIdle(data, selection)) &&
           (selection.thread < 0 || thread === selection.thread) &&
           (selection.process < 0 || data.threads[thread].process === selection.process);
}

function* selectedRanges(data, selection) {
    const starts = laneStarts(data);
    for (let lane = 0; lane < data.lanes.length; lane++) {
        if (!laneIsSelected(data, lane, selection))
            continue;
        let start = starts[lane], end = starts[lane + 1];
        if (selection.slots) {
            end = firstAtSlot(data.cells.slot, start, end, selection.slots[1]);
            start = firstAtSlot(data.cells.slot, start, end, selection.slots[0]);
        }
        if (start < end)
            yield [start, end];
    }
}

// Exclusive cost per recorded path of what a selection holds. It is kept from one selection to the next:
// of a range moved on the same threads only the slots that came and went are counted.
class SelectedCosts {
    constructor(data) {
        this.data = data;
        this.samples = new Float64Array(data.nodes.count + 1);
        this.weight = new Float64Array(data.nodes.count + 1);
        this.lanes = '';
        this.range = [0, 0];
    }

    choose(selection) {
        const lanes = [selection.event, selection.process, selection.thread, selection.idle].join();
        const range = selection.slots || [0, Infinity], [from, to] = this.range;
        if (lanes !== this.lanes || range[0] >= to || range[1] <= from) {
            this.samples.fill(0);
            this.weight.fill(0);
            this.add(selection, range, 1);
        } else {
            this.add(selection, [range[0], from], 1);
            this.add(selection, [from, range[0]], -1);
            this.add(selection, [to, range[1]], 1);
            this.add(selection, [range[1], to], -1);
        }
        this.lanes = lanes;
        this.range = range;
        return this;
    }

    add(selection, slots, sign) {
        if (slots[0] >= slots[1])
            return;
        const {node, samples, weight} = this.data.cells, sums = this.samples, weights = this.weight;
        for (const [start, end] of selectedRanges(this.data, {...selection, slots}))
            for (let i = start; i < end; i++) {
                sums[node[i]] += sign * samples[i];
                weights[node[i]] += sign * weight[i];
            }
    }
}
