// The memory at one place: small ones slot by slot, larger ones as cells, each with its sequence's letter.
//
// Drawn on a canvas, so that thousands of blocks are quick; what it shows is told in words beside it, and the block
// tables say the same as a table.

import { blockName } from "../blocks.js";
import { cellScale, holdersOf, mapCells } from "../cells.js";
import { el } from "../dom.js";
import { firstOf, isRun, sizeOf } from "../state.js";
import { clean, counted, shownNumber } from "../words.js";
import { fitted, hatch, panel, themeOf } from "./kit.js";

const MOST_SLOTS_DRAWN = 640; // with more, a block is one cell
const MOST_HEIGHT = 400;
const CELL_SIZES = [36, 32, 28, 25, 22, 20, 18, 16, 14];
const SLOT_SIZES = [20, 18, 16, 14, 12, 10];
const FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const MAP_LEGEND = [
  ["full", "filled"], ["part", "held, empty"], ["shared", "& shared"], ["cached", "= free, still findable"],
  ["lost", "beyond what was asked for"], ["free", "free"], ["changed", "just changed"],
];

export class MemoryView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.pools = [this.makePool(false)];
    if (run.geometry[2]) this.pools.push(this.makePool(true));
    this.scale = el("span");
    const left = { shared: run.geometry[1] === 1, cached: !run.payload.findable, lost: run.geometry[1] > 1 };
    const shown = MAP_LEGEND.filter(([name]) => !left[name]);
    const legend = shown.map(([name, words]) => el("span", {}, el("i", { class: `swatch ${name}` }), words));
    const parts = this.pools.flatMap((pool) => [pool.caption, pool.canvas]);
    const { element, note } = panel("Memory", level, ...parts, el("p", { class: "legend" }, this.scale, ...legend));
    this.element = element;
    this.element.classList.add("memory");
    this.note = note;
  }

  makePool(onHost) {
    const canvas = el("canvas", { role: "img", "aria-label": "", onclick: (event) => this.clicked(pool, event) });
    canvas.addEventListener("pointermove", (event) => this.pointed(pool, event));
    const caption = onHost ? el("p", { class: "caption" }) : null;
    const pool = { onHost, canvas, caption, spots: [], layout: null };
    return pool;
  }

  draw() {
    const { state } = this.run;
    const theme = themeOf(this.element);
    for (const pool of this.pools) this.drawPool(pool, state, theme);
    this.note.textContent = `${shownNumber(state.numFree)} of ${counted(state.numBlocks, unitOf(state))} free`;
  }

  drawPool(pool, state, theme) {
    const width = pool.canvas.clientWidth;
    if (!width) return;
    const numBlocks = pool.onHost ? state.numHostBlocks : state.numBlocks;
    pool.layout = layoutOf(numBlocks, state.blockSize, width);
    const pen = fitted(pool.canvas, width, pool.layout.height);
    const holders = holdersOf(state, pool.onHost);
    const told = { pool, state, theme, pen, holders, layout: pool.layout, focus: this.run.holdingFocus };
    told.changed = changedIn(this.run.cursor.changed, pool.onHost ? state.numBlocks : 0, numBlocks);
    told.inspected = this.run.block === null ? null : this.run.block - (pool.onHost ? state.numBlocks : 0);
    if (pool.layout.slots) this.drawBlocks(told);
    else this.drawCells(told);
    pool.canvas.setAttribute("aria-label", inWords(state, pool.onHost, holders));
    if (pool.caption) {
      const held = shownNumber(state.num_host_held);
      pool.caption.textContent = `Host pool: ${held} of ${counted(numBlocks, "block")} held`;
    } else {
      this.scale.textContent = scaleWords(pool.layout, state);
    }
  }

  // -- one box a block, with its slots ---------------------------------------------------------------------

  drawBlocks(told) {
    const { layout, state, pool } = told;
    const blocks = new Map();
    told.holders.forEach((holder) => {
      holder.table.forEach((block, position) => {
        const filled = Math.min(Math.max(holder.written - position * state.blockSize, 0), state.blockSize);
        const known = blocks.get(block) ?? { filled: 0, seqs: [] };
        known.filled = Math.max(known.filled, filled);
        known.seqs.push(holder.seq);
        blocks.set(block, known);
      });
    });
    const cached = pool.onHost ? new Set() : state.cached;
    for (let block = 0; block < layout.count; block++) {
      this.drawBlock(told, block, blocks.get(block) ?? { filled: 0, seqs: [] }, cached.has(block));
    }
  }

  drawBlock(told, block, { filled, seqs }, isCached) {
    const { pen, theme, layout, focus } = told;
    const { x, y } = spotOf(layout, block);
    const { boxWidth, boxHeight, slot, columns } = layout;
    const look = this.page.look;
    const owner = focus !== null && seqs.includes(focus) ? focus : seqs[0];
    const color = seqs.length ? look.color(owner) : theme.free;
    pen.globalAlpha = focus === null || seqs.includes(focus) ? 1 : 0.3;
    pen.lineWidth = 1;
    pen.strokeStyle = seqs.length ? color : theme.line;
    pen.strokeRect(x + 0.5, y + 0.5, boxWidth - 1, boxHeight - 1);
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.fillStyle = theme.dim;
    pen.textAlign = "left";
    const name = `${told.pool.onHost ? "h" : ""}${block}${isCached ? "=" : ""}`;
    pen.fillText(name, x + 5, y + 10);
    this.drawOwners(told, seqs, owner, x, y, name.length);
    for (let at = 0; at < told.state.blockSize; at++) {
      const left = x + 4 + (at % columns) * slot;
      const top = y + 19 + Math.floor(at / columns) * slot;
      const state = at < filled ? "full" : seqs.length ? "empty" : isCached ? "cached" : "free";
      drawSlot(pen, left, top, slot - 2, state, color, theme, look);
    }
    pen.globalAlpha = 1;
    this.drawMarks(told, x, y, boxWidth, boxHeight, told.changed(block, block + 1), told.inspected === block);
  }

  // The letters of who lists the block, from the right; as many as there is room for.
  drawOwners({ pen, layout, theme }, seqs, owner, x, y, taken) {
    const look = this.page.look;
    const room = Math.max(Math.floor((layout.boxWidth - 10 - taken * 7) / 14), 1);
    const shown = [owner, ...seqs.filter((seq) => seq !== owner)].slice(0, seqs.length > room ? room - 1 : room);
    let right = x + layout.boxWidth - 4;
    pen.textAlign = "center";
    if (seqs.length > room) {
      pen.fillStyle = theme.dim;
      pen.fillText(`&${seqs.length}`, right - 7, y + 10);
      right -= 16;
    }
    if (!seqs.length) return;
    for (const seq of shown.reverse()) {
      pen.fillStyle = look.color(seq);
      pen.fillRect(right - 13, y + 3, 13, 14);
      pen.fillStyle = "#000";
      pen.font = `bold 11px ${FONT}`;
      pen.fillText(look.letter(seq), right - 6.5, y + 10.5);
      right -= 14;
    }
  }

  // -- one cell a block, or several blocks -----------------------------------------------------------------

  drawCells(told) {
    const { layout, pen, theme, state, pool, holders } = told;
    const cached = pool.onHost ? [] : state.cached;
    const cells = mapCells(holders, layout.count, state.blockSize, layout.cellBlocks, cached);
    const mine = cellsOfFocus(holders, told.focus, layout.cellBlocks);
    // The empty rest of a slab has its letter once a row: so one sees how much of it there is.
    told.isNamed = (cell, at) =>
      cell.written || at % layout.perRow === 0 || !isRun(holders[cell.owner].table) || cells[at - 1].owner !== cell.owner;
    pen.textBaseline = "middle";
    cells.forEach((cell, at) => {
      const { x, y } = spotOf(layout, at);
      if (at % layout.perRow === 0) this.drawRowName(told, at, y);
      const first = at * layout.cellBlocks;
      const isMine = mine.has(at);
      pen.globalAlpha = told.focus === null || isMine ? 1 : 0.28;
      this.drawCell(told, cell, at, isMine);
      pen.globalAlpha = 1;
      const isInspected = told.inspected !== null && Math.floor(told.inspected / layout.cellBlocks) === at;
      const size = layout.cell - 1;
      this.drawMarks(told, x, y, size, size, told.changed(first, first + cell.blocks), isInspected);
    });
    pen.fillStyle = theme.dim;
  }

  drawRowName({ pen, theme, layout, state, pool }, at, y) {
    pen.font = `10px ${FONT}`;
    pen.textAlign = "right";
    pen.fillStyle = theme.dim;
    const first = at * layout.cellBlocks * (pool.onHost ? 1 : state.blockSize);
    pen.fillText(`${pool.onHost ? "h" : ""}${first}`, layout.gutter - 5, y + layout.cell / 2);
  }

  drawCell(told, cell, at, isMine) {
    const { pen, theme, layout, holders, state } = told;
    const { x, y } = spotOf(layout, at);
    const size = layout.cell - 2;
    const slots = cell.blocks * state.blockSize;
    if (cell.owner === null) {
      drawFree(pen, x, y, size, cell.cached / slots, theme, this.page.look);
      return;
    }
    const look = this.page.look;
    const seq = isMine ? told.focus : holders[cell.owner].seq;
    const color = look.color(seq);
    const held = Math.round((size * (cell.written + cell.empty + cell.rounding)) / slots);
    const full = Math.round((size * cell.written) / slots);
    const lost = Math.round((size * cell.rounding) / slots);
    pen.fillStyle = theme.free;
    pen.globalAlpha *= 0.25;
    pen.fillRect(x, y, size, size);
    pen.globalAlpha *= 4;
    hatch(pen, x, y + size - held, size, held - full, color);
    if (lost) hatch(pen, x, y + size - held, size, lost, look.kinds[3].color, 3, true);
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    pen.fillStyle = color;
    pen.fillRect(x, y + size - full, size, full);
    if (told.isNamed(cell, at)) {
      drawLetter(pen, look.letter(seq), x + size / 2, y + size / 2 + 0.5, layout.cell, full / size, theme);
    }
    if (cell.shared) {
      pen.fillStyle = theme.ink;
      pen.fillRect(x + size - 4, y, 4, 4);
      if (layout.cell >= 20) {
        pen.font = `bold 9px ${FONT}`;
        pen.fillRect(x + size - 8, y, 8, 10);
        pen.fillStyle = theme.panel;
        pen.fillText("&", x + size - 4, y + 5.5);
      }
    }
  }

  drawMarks({ pen, theme }, x, y, width, height, isChanged, isInspected) {
    if (isChanged) {
      pen.strokeStyle = theme.changed;
      pen.lineWidth = 2;
      pen.strokeRect(x - 0.5, y - 0.5, width + 0.5, height + 0.5);
      pen.fillStyle = theme.changed;
      pen.beginPath();
      pen.moveTo(x - 1.5, y - 1.5);
      pen.lineTo(x + 6, y - 1.5);
      pen.lineTo(x - 1.5, y + 6);
      pen.fill();
    }
    if (isInspected) {
      pen.strokeStyle = theme.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - 2, y - 2, width + 3, height + 3);
    }
  }

  // -- the mouse -------------------------------------------------------------------------------------------

  blockAt(pool, event) {
    const { layout } = pool;
    if (!layout) return null;
    const column = Math.floor((event.offsetX - layout.gutter) / layout.stepX);
    const row = Math.floor(event.offsetY / layout.stepY);
    if (column < 0 || column >= layout.perRow || row < 0) return null;
    const block = (row * layout.perRow + column) * layout.cellBlocks;
    return block < layout.count ? block : null;
  }

  clicked(pool, event) {
    const block = this.blockAt(pool, event);
    if (block === null) return;
    this.page.activate(this.run);
    this.page.inspect(block + (pool.onHost ? this.run.state.numBlocks : 0));
  }

  pointed(pool, event) {
    const block = this.blockAt(pool, event);
    const title = block === null ? "" : cellWords(this.run.state, pool, block);
    if (pool.canvas.title !== title) pool.canvas.title = title;
  }
}

function unitOf(state) {
  return state.blockSize > 1 ? "block" : "slot";
}

// Where cells lie: as boxes with slots, as cells of one block, or of several.
export function layoutOf(count, blockSize, width) {
  if (blockSize > 1 && count * blockSize <= MOST_SLOTS_DRAWN && blockSize <= 32) {
    for (const slot of SLOT_SIZES) {
      const layout = boxes(count, blockSize, width, slot);
      if (layout.height <= MOST_HEIGHT && layout.boxWidth <= width) return layout;
    }
  }
  const gutter = Math.max(String(count * blockSize).length * 6.2 + 8, 26);
  for (const cell of CELL_SIZES) {
    const layout = grid(count, 1, width, cell, gutter);
    if (layout.height <= MOST_HEIGHT) return layout;
  }
  const { perRow } = grid(count, 1, width, 14, gutter);
  const cellBlocks = cellScale(count, perRow * Math.floor(MOST_HEIGHT / 14));
  const fitting = CELL_SIZES.map((cell) => grid(count, cellBlocks, width, cell, gutter));
  return fitting.find((layout) => layout.height <= MOST_HEIGHT) ?? fitting.at(-1);
}

function boxes(count, blockSize, width, slot) {
  const columns = blockSize <= 8 ? blockSize : 8;
  const boxWidth = Math.max(columns * slot + 6, 46);
  const boxHeight = Math.ceil(blockSize / columns) * slot + 22;
  const [stepX, stepY] = [boxWidth + 8, boxHeight + 8];
  const perRow = roundRow(Math.max(Math.floor((width - 4 + 8) / stepX), 1));
  const height = Math.ceil(count / perRow) * stepY;
  return { slots: true, count, cellBlocks: 1, slot, columns, boxWidth, boxHeight, stepX, stepY, perRow, height, gutter: 2 };
}

// Rows of a length that one can count with: a multiple of 8, or of 4.
function roundRow(across) {
  const unit = across >= 16 ? 8 : across >= 4 ? 4 : 1;
  return across - (across % unit);
}

function grid(count, cellBlocks, width, cell, gutter) {
  const across = Math.max(Math.floor((width - gutter - 3) / cell), 1);
  const perRow = roundRow(across);
  const rows = Math.ceil(Math.ceil(count / cellBlocks) / perRow);
  return { slots: false, count, cellBlocks, cell, gutter, stepX: cell, stepY: cell, perRow, height: rows * cell + 4 };
}

function spotOf(layout, at) {
  const x = layout.gutter + (at % layout.perRow) * layout.stepX;
  return { x, y: 2 + Math.floor(at / layout.perRow) * layout.stepY };
}

function drawSlot(pen, x, y, size, state, color, theme, look) {
  if (state === "full") {
    pen.fillStyle = color;
    pen.fillRect(x, y, size, size);
    return;
  }
  if (state === "empty") hatch(pen, x, y, size, size, color);
  pen.strokeStyle = state === "cached" ? look.kinds[0].color : state === "empty" ? color : theme.line;
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (state === "cached") {
    pen.beginPath();
    for (const part of [0.36, 0.64]) {
      pen.moveTo(x + 3, y + Math.round(size * part) + 0.5);
      pen.lineTo(x + size - 3, y + Math.round(size * part) + 0.5);
    }
    pen.stroke();
  }
}

function drawFree(pen, x, y, size, cached, theme, look) {
  pen.strokeStyle = theme.line;
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (cached) {
    pen.strokeStyle = look.kinds[0].color;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const part of [0.4, 0.62]) {
      pen.moveTo(x + size * 0.25, y + size * part);
      pen.lineTo(x + size * 0.75, y + size * part);
    }
    pen.stroke();
    return;
  }
  pen.fillStyle = theme.free;
  pen.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
}

// Black on what is filled; else in the ink of the page, with a rim that sets it off.
function drawLetter(pen, letter, x, y, cell, share, theme) {
  pen.font = `bold ${Math.round(Math.min(cell * 0.62, 18))}px ${FONT}`;
  pen.textAlign = "center";
  if (share >= 0.75) {
    pen.fillStyle = "#000";
  } else {
    pen.strokeStyle = theme.panel;
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeText(letter, x, y);
    pen.fillStyle = theme.ink;
  }
  pen.fillText(letter, x, y);
}

// A question: was anything from one block up to another changed?
function changedIn(tables, first, count) {
  const runs = tables.filter(isRun).map((table) => table.range.map((block) => block - first));
  const blocks = tables.filter((table) => !isRun(table)).flat();
  const own = blocks.map((block) => block - first).filter((block) => block >= 0 && block < count);
  own.sort((one, other) => one - other);
  return (from, stop) => {
    if (runs.some(([start, end]) => start < stop && from < end)) return true;
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (own[middle] < from) low = middle + 1;
      else high = middle;
    }
    return own[low] < stop;
  };
}

function cellsOfFocus(holders, focus, cellBlocks) {
  const holder = holders.find(({ seq }) => seq === focus);
  const cells = new Set();
  if (!holder) return cells;
  if (isRun(holder.table)) {
    const [start, stop] = holder.table.range;
    for (let at = Math.floor(start / cellBlocks); at < Math.ceil(stop / cellBlocks); at++) cells.add(at);
  } else {
    for (const block of holder.table) cells.add(Math.floor(block / cellBlocks));
  }
  return cells;
}

function scaleWords(layout, state) {
  if (layout.slots) return `a box is a block of ${counted(state.blockSize, "slot")}`;
  if (layout.cellBlocks === 1) return state.blockSize > 1 ? "a cell is a block; before a row stands its first slot" : "a cell is a slot";
  return `a cell is ${counted(layout.cellBlocks, unitOf(state))}; its letter is who has most of it`;
}

// The picture in words, for those who do not see it.
function inWords(state, onHost, holders) {
  const held = onHost ? state.num_host_held : state.num_held;
  const all = onHost ? state.numHostBlocks : state.numBlocks;
  const unit = unitOf(state);
  const parts = holders.slice(0, 12).map(({ name, table, written }) => {
    const size = sizeOf(table);
    const from = isRun(table) ? ` from ${firstOf(table)} on` : "";
    return `${clean(name)} holds ${counted(size, unit)}${from}, ${counted(written, "slot")} filled`;
  });
  if (holders.length > 12) parts.push(`and ${counted(holders.length - 12, "sequence")} more`);
  const where = onHost ? "Host pool" : "Memory map";
  const words = [`${where}: ${shownNumber(held)} of ${counted(all, unit)} held`, ...parts];
  return `${words.join(". ")}. The block tables name the blocks.`;
}

function cellWords(state, pool, block) {
  const { cellBlocks } = pool.layout;
  const stop = Math.min(block + cellBlocks, pool.layout.count);
  const offset = pool.onHost ? state.numBlocks : 0;
  const name = blockName(block + offset, state);
  const what = unitOf(state);
  const where = cellBlocks === 1 ? `${what} ${name}` : `${what}s ${name} to ${blockName(stop - 1 + offset, state)}`;
  const names = holdersOf(state, pool.onHost)
    .filter(({ table }) => touches(table, block, stop))
    .map((holder) => clean(holder.name));
  if (names.length) return `${where}: ${names.slice(0, 6).join(", ")}${names.length > 6 ? ", …" : ""}`;
  return `${where}: free`;
}

function touches(table, first, stop) {
  if (isRun(table)) return table.range[0] < stop && first < table.range[1];
  return table.some((block) => block >= first && block < stop);
}
