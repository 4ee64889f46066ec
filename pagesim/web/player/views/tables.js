// Block tables: for each sequence, which physical block stands at each logical place. As the terminal's.

import { anyLists, blockName } from "../blocks.js";
import { el } from "../dom.js";
import { isRun, sizeOf } from "../state.js";
import { clean, shownNumber } from "../words.js";
import { leftOut, panel, rowWindow } from "./kit.js";

const MOST_ROWS = 12;
const MOST_COLUMNS = 40; // of a longer table, its beginning and its last block

export class TablesView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.body = el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": `Block tables of ${clean(run.name)}` });
    this.rest = el("div");
    const { element, note } = panel("Block tables", level, this.body, this.rest);
    this.element = element;
    this.element.classList.add("tables");
    this.note = note;
    note.classList.add("key");
  }

  draw() {
    const { state } = this.run;
    const order = [...state.running, ...[...state.sequences.keys()].filter((seq) => !state.running.has(seq))];
    const views = order.map((seq) => state.sequences.get(seq)).filter(({ table }) => sizeOf(table));
    this.note.replaceChildren();
    if (!views.length) {
      this.body.replaceChildren(el("p", { class: "more" }, "No sequence holds memory."));
      this.rest.replaceChildren();
      return;
    }
    const shown = rowWindow(views.length, MOST_ROWS, views.findIndex(({ seq }) => seq === this.run.focus));
    const rows = views.slice(...shown);
    const width = Math.min(Math.max(...rows.map(({ table }) => (isRun(table) ? 1 : table.length))), MOST_COLUMNS);
    const table = el("table", { class: "blocks" });
    if (!isRun(rows[0].table)) table.append(heading(width));
    table.append(el("tbody", {}, ...rows.map((view) => this.row(view, width))));
    this.body.replaceChildren(table);
    this.rest.replaceChildren(...[leftOut(views.length, shown)].filter(Boolean));
    this.note.replaceChildren(...keyOf(rows, state));
  }

  row(view, width) {
    const who = this.page.look.named({ ...view, name: view.name, status: "running" });
    const row = el("tr", { class: this.rowClass(view) }, el("th", { scope: "row" }, who));
    row.style.setProperty("--owner", this.page.look.color(view.seq));
    if (isRun(view.table)) {
      row.append(el("td", { class: this.isChangedRun(view.table) ? "changed" : "" }, runWords(view)));
      return row;
    }
    const { length } = view.table;
    const head = length <= width ? length : width - 1;
    for (let at = 0; at < head; at++) row.append(this.cell(view, at));
    if (head < length) row.append(el("td", { class: "gap" }, `… ${shownNumber(length - head - 1)} more …`), this.cell(view, length - 1));
    return row;
  }

  rowClass(view) {
    const focus = this.run.holdingFocus;
    if (focus === null) return "";
    return view.seq === focus ? "focus" : "others";
  }

  cell(view, at) {
    const { state, cursor } = this.run;
    const block = view.table[at];
    const count = state.refCounts.get(block) ?? 1;
    const filled = Math.min(Math.max(view.written - at * state.blockSize, 0), state.blockSize);
    let text = blockName(block, state);
    if (count > 1) text += `&${count}`;
    if (state.cached.has(block)) text += "=";
    if (filled < state.blockSize) text += `(${filled}/${state.blockSize})`;
    const names = [anyLists(cursor.changed, block) ? "changed" : "", this.run.block === block ? "inspected" : ""];
    return el("td", { class: names.join(" ").trim(), onclick: () => this.inspect(block) }, text);
  }

  inspect(block) {
    this.page.activate(this.run);
    this.page.inspect(block);
  }

  isChangedRun({ range: [start, stop] }) {
    return this.run.cursor.changed.some((table) =>
      isRun(table) ? table.range[0] < stop && start < table.range[1] : table.some((block) => block >= start && block < stop));
  }
}

function heading(width) {
  const cells = Array.from({ length: width }, (_, at) => el("th", { scope: "col" }, String(at)));
  return el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "logical"), ...cells));
}

function runWords(view) {
  const [start, stop] = view.table.range;
  const size = stop - start;
  let words = `slots ${shownNumber(start)} to ${shownNumber(stop - 1)}: ${shownNumber(view.written)} of ${shownNumber(size)} filled`;
  if (view.wanted < size) words += `, ${shownNumber(view.wanted)} asked for`;
  return words;
}

// What the signs in the rows mean: only those that occur, each as it occurs first.
function keyOf(rows, state) {
  const listed = rows.filter(({ table }) => !isRun(table));
  const blocks = listed.flatMap(({ table }) => table);
  const shared = blocks.map((block) => state.refCounts.get(block)).find((count) => count > 1);
  const part = listed.find(({ table, written }) => written < table.length * state.blockSize);
  const known = [];
  if (shared) known.push([`&${shared}`, `${shared} share it`]);
  if (blocks.some((block) => state.cached.has(block))) known.push(["=", "findable"]);
  if (part && state.blockSize > 1) {
    const filled = part.written % state.blockSize;
    known.push([`(${filled}/${state.blockSize})`, "slots filled"]);
  }
  return known.map(([sign, words]) => el("span", {}, el("span", { class: "sign" }, sign), ` ${words}`));
}
