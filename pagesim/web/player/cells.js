// Cuts a memory into cells and says what is in each. Draws nothing.
//
// A cell is a run of whole blocks. As pagesim.views.map_cells; a test compares both.

import { firstOf, isRun, sizeOf } from "./state.js";

// The sequences that hold blocks of the device, or of the host, in order of submission; the host's blocks are counted
// from 0.
export function holdersOf(state, onHost) {
  const holders = [];
  for (const view of state.sequences.values()) {
    if (!sizeOf(view.table) || firstOf(view.table) >= state.numBlocks !== onHost) continue;
    const table = onHost ? view.table.map((block) => block - state.numBlocks) : view.table;
    holders.push({ seq: view.seq, name: view.name, written: view.written, wanted: view.wanted, table });
  }
  return holders;
}

// The fewest blocks of a cell (a power of two) of which `most` cells suffice.
export function cellScale(numBlocks, most) {
  let blocks = 1;
  while (Math.ceil(numBlocks / blocks) > Math.max(most, 1)) blocks *= 2;
  return blocks;
}

// What each cell of `cellBlocks` blocks holds, in slots: written, empty (held, not written), rounding (granted beyond
// what was asked for), shared (in blocks that several list), cached (free, but findable); and its owner, the place
// in `holders` of who has most of it, or null.
export function mapCells(holders, numBlocks, blockSize, cellBlocks, cached) {
  const count = Math.ceil(numBlocks / cellBlocks);
  const cells = Array.from({ length: count }, (_, at) => ({
    blocks: Math.min(cellBlocks, numBlocks - at * cellBlocks),
    written: 0, empty: 0, rounding: 0, shared: 0, cached: 0, owner: null, most: 0,
  }));
  const known = new Map();
  holders.forEach((holder, number) => {
    const mine = new Map();
    if (isRun(holder.table)) addRun(cells, holder, cellBlocks * blockSize, blockSize, mine);
    else addTable(cells, holder, blockSize, cellBlocks, known, mine);
    for (const [at, slots] of mine) {
      if (slots > cells[at].most) Object.assign(cells[at], { most: slots, owner: number });
    }
  });
  for (const block of cached) {
    const cell = cells[Math.floor(block / cellBlocks)];
    if (cell !== undefined && !known.has(block)) cell.cached += blockSize;
  }
  return cells;
}

// A shared block counts for who lists it first, and is as full as its fullest holder says.
function addTable(cells, holder, size, cellBlocks, known, mine) {
  holder.table.forEach((block, position) => {
    const at = Math.floor(block / cellBlocks);
    const cell = cells[at];
    if (cell === undefined) return; // a log that was tampered with
    const filled = Math.min(Math.max(holder.written - position * size, 0), size);
    const before = known.get(block);
    if (before === undefined) {
      known.set(block, { filled, several: false });
      cell.written += filled;
      cell.empty += size - filled;
      mine.set(at, (mine.get(at) ?? 0) + size);
      return;
    }
    if (!before.several) cell.shared += size;
    before.several = true;
    if (filled > before.filled) {
      cell.written += filled - before.filled;
      cell.empty -= filled - before.filled;
      before.filled = filled;
    }
  });
}

function addRun(cells, holder, cellSlots, size, mine) {
  const [start, stop] = holder.table.range.map((block) => block * size);
  const written = Math.min(start + holder.written, stop);
  const wanted = Math.min(Math.max(start + holder.wanted, written), stop);
  const spread = (from, to, add) => {
    const last = Math.min(Math.ceil(to / cellSlots), cells.length);
    for (let at = Math.max(Math.floor(from / cellSlots), 0); at < last; at++) {
      add(at, Math.min(to, (at + 1) * cellSlots) - Math.max(from, at * cellSlots));
    }
  };
  spread(start, written, (at, slots) => (cells[at].written += slots));
  spread(written, wanted, (at, slots) => (cells[at].empty += slots));
  spread(wanted, stop, (at, slots) => (cells[at].rounding += slots));
  spread(start, stop, (at, slots) => mine.set(at, (mine.get(at) ?? 0) + slots));
}

// Slots of the device that are used, held but empty, free but findable, and free.
export function momentSplit(state) {
  const holders = holdersOf(state, false);
  const [cell] = mapCells(holders, state.numBlocks, state.blockSize, state.numBlocks, state.cached);
  const held = cell.written + cell.empty + cell.rounding;
  const free = state.numBlocks * state.blockSize - held - cell.cached;
  return [cell.written, held - cell.written, cell.cached, free];
}
