// Who runs and who waits, in order, with how far each has got. As the terminal's.

import { el } from "../dom.js";
import { counted, shownNumber, times } from "../words.js";
import { leftOut, panel, rowWindow } from "./kit.js";

const MOST_RUNNING = 10;
const MOST_OTHERS = 6;

export class QueuesView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.body = el("div");
    this.level = level + 1;
    this.element = panel("Requests", level, this.body).element;
    this.element.classList.add("queues");
  }

  draw() {
    const { state } = this.run;
    const views = [...state.sequences.values()];
    const running = [...state.running].map((seq) => state.sequences.get(seq));
    const swapped = views.filter(({ status }) => status === "swapped");
    const waiting = waitingViews(state, views, running);
    const blocked = state.planned?.[5];
    const parts = [this.part(running, "running", running.length ? "in order of admission" : "", this.runningRow, MOST_RUNNING)];
    if (swapped.length) {
      const why = state.in_step && blocked ? "first to come back; that needs more memory than is free" : "first to come back";
      parts.push(this.part(swapped, "on the host", why, this.swappedRow, MOST_OTHERS));
    }
    let why = waiting.length ? "in order of submission" : "";
    if (waiting.length && blocked) why += "; the first needs more memory than is free";
    if (waiting.length && swapped.length) why = "after those on the host";
    parts.push(this.part(waiting, "waiting", why, this.waitingRow, MOST_OTHERS));
    this.body.replaceChildren(...parts.flat());
  }

  part(views, title, note, row, most) {
    const heading = el(`h${this.level}`, {}, `${shownNumber(views.length)} ${title}`);
    const small = el("small", {}, note);
    const at = views.findIndex(({ seq }) => seq === this.run.focus);
    const shown = rowWindow(views.length, most, at);
    const rows = views.slice(...shown).map((view) => {
      const follow = () => this.page.follow(this.run, view.name);
      const item = el("li", { class: view.seq === this.run.focus ? "focus" : "", onclick: follow });
      item.append(this.page.look.named(view), ...row.call(this, view, views));
      return item;
    });
    const says = rows.some((item) => item.querySelector(".progress ~ .said:not(:empty)"));
    const list = rows.length ? [el("ul", { class: says ? "rows noted-rows" : "rows" }, ...rows)] : [];
    return [el("div", { class: "heading" }, heading, small), ...list, leftOut(views.length, shown)].filter(Boolean);
  }

  runningRow(view) {
    const computed = Math.min(view.written, view.promptTokens);
    return [
      progress(computed, view.promptTokens, "prompt"),
      progress(view.outputs, view.maxTokens, "output"),
      el("span", { class: "said" }, this.runningWords(view)),
    ];
  }

  runningWords(view) {
    if (this.run.state.moving.has(view.seq)) return "dropped";
    if (!view.table.length && view.outputs) return "its memory is given back";
    if (view.outputs && view.written < view.tokens - 1) {
      return `computes again: ${shownNumber(view.written)} of ${shownNumber(view.tokens)}`;
    }
    if (view.logprob !== null) return nats(view.logprob);
    return view.preemptions ? `preempted ${times(view.preemptions)}` : "";
  }

  swappedRow(view) {
    const back = view.table.length && view.table[0] < this.run.state.numBlocks;
    const where = counted(view.table.length, back ? "block" : "host block");
    const has = `has ${counted(view.outputs, "output")}`;
    const words = `${back ? "comes back with" : "keeps"} ${counted(view.written, "token")} in ${where}, ${has}`;
    return [el("span", { class: "said" }, words)];
  }

  waitingRow(view) {
    let words = counted(view.promptTokens, "prompt token");
    if (view.preemptions) words += `, preempted ${times(view.preemptions)}, has ${counted(view.outputs, "output")}`;
    return [el("span", { class: "said" }, words)];
  }
}

// In order of submission; not those that fork from one that runs already.
function waitingViews(state, views, running) {
  const started = new Set(running.map(({ request }) => request));
  return views.filter(({ status, follows, request }) => status === "waiting" && !(follows && started.has(request)));
}

function nats(microNats) {
  return `${(microNats / 1e6).toFixed(2)} nats`;
}

function progress(done, whole, noun) {
  const fill = el("i");
  fill.style.width = `${Math.min((100 * done) / Math.max(whole, 1), 100)}%`;
  const words = `${shownNumber(done)}/${shownNumber(whole)}`;
  return el("span", { class: "progress" }, el("span", { class: "track", "aria-hidden": "true" }, fill),
    el("span", {}, words, " ", el("small", {}, noun)));
}
