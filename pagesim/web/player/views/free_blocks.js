// Which free blocks are taken next, and whose cached content goes first. As the terminal's.

import { anyLists } from "../blocks.js";
import { el } from "../dom.js";
import { shownNumber } from "../words.js";
import { panel } from "./kit.js";

const MOST_LISTED = 32;

export class FreeBlocksView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.body = el("dl", { class: "listed" });
    const { element, note } = panel("Free blocks", level, this.body);
    this.element = element;
    this.element.classList.add("free-blocks");
    note.textContent = "in the order in which they are handed out";
    element.hidden = run.state.queue === null;
  }

  draw() {
    const { state } = this.run;
    if (state.queue === null) return;
    const blocks = state.queue.blocks();
    const evicted = blocks.filter((block) => state.cached.has(block));
    const lines = [this.line("taken next", blocks)];
    if (evicted.length) lines.push(this.line("evicted next", evicted));
    this.body.replaceChildren(...lines.flat());
  }

  line(label, blocks) {
    const shown = blocks.slice(0, MOST_LISTED).map((block) => this.block(block));
    const more = blocks.length - shown.length;
    if (more) shown.push(el("span", { class: "said" }, `and ${shownNumber(more)} more`));
    if (!blocks.length) shown.push(el("span", { class: "said" }, "none is free"));
    return [el("dt", {}, label), el("dd", {}, ...shown)];
  }

  block(block) {
    const { run, page } = this;
    const isChanged = anyLists(run.cursor.changed, block);
    const inspect = () => {
      page.activate(run);
      page.inspect(block);
    };
    return el("span", { class: isChanged ? "block changed" : "block", onclick: inspect }, String(block));
  }
}
