// Where the memory is, as bars with a colour and a pattern for each kind: now, in this step, in the mean.
//
// What is reserved and what is wasted shows in hindsight, so it comes from Python with the run.

import { momentSplit } from "../cells.js";
import { el } from "../dom.js";
import { percent, shownNumber } from "../words.js";
import { panel } from "./kit.js";

const MOMENT = [
  ["used", "used"], ["reserved", "held, empty"], ["cached", "free, still findable"], ["free", "free"],
];

function bar(parts, label) {
  const whole = parts.reduce((sum, [, slots]) => sum + slots, 0);
  const words = parts.filter(([, slots]) => slots).map(([, slots, name]) => `${name} ${percent(slots, whole)}`);
  const element = el("div", { class: "bar", role: "img", "aria-label": `${label}: ${words.join(", ")}` });
  for (const [kind, slots] of parts) {
    if (!slots) continue;
    const piece = el("i", { class: `kind-${kind}` });
    piece.style.flexGrow = slots;
    element.append(piece);
  }
  return element;
}

// Below the map: the memory at this moment; no hindsight is needed.
export class MomentBar {
  constructor(run) {
    this.run = run;
    this.element = el("div", { class: "moment" });
  }

  draw() {
    const split = momentSplit(this.run.state);
    const whole = split.reduce((sum, slots) => sum + slots, 0);
    const parts = MOMENT.map(([kind, name], at) => [kind, split[at], name]);
    const shown = parts.filter(([kind, slots]) => slots || kind !== "cached");
    const figures = shown.map(([kind, slots, name]) =>
      el("span", {}, el("i", { class: `swatch kind-${kind}` }), `${shownNumber(slots)} ${name} `,
        el("small", {}, percent(slots, whole))),
    );
    this.element.replaceChildren(bar(parts, "Slots now"), el("p", { class: "legend" }, ...figures));
  }
}

// The five kinds of the paper, in this step and as a mean over the steps over which the terminal takes it, too.
export class WasteView {
  constructor(page, run, level) {
    this.run = run;
    this.kinds = page.look.kinds;
    this.slots = run.geometry[0] * run.geometry[1];
    this.bars = el("div", { class: "waste-bars" });
    this.body = el("tbody");
    const head = ["kind", "this step", "slots", "mean", "what it is"].map((name, at) =>
      el("th", { scope: "col", class: at > 0 && at < 4 ? "number" : "" }, name));
    const table = el("table", { class: "figures" }, el("thead", {}, el("tr", {}, ...head)), this.body);
    const over = run.meanWaste ? [el("p", { class: "more" }, meanWords(run))] : [];
    const { element, note } = panel("Where the memory went", level, this.bars, table, ...over);
    this.element = element;
    this.element.classList.add("waste");
    note.textContent = "in hindsight: what nobody ever fills is waste";
  }

  // Slots of each kind in the step one is in; null before the first.
  ofStep() {
    const at = this.run.stepPosition;
    if (at === null) return null;
    const parts = this.kinds.slice(0, 4).map(({ name }) => this.run.waste[name][at]);
    return [...parts, this.slots - parts.reduce((sum, slots) => sum + slots, 0)];
  }

  draw() {
    const now = this.ofStep();
    const mean = this.run.meanWaste;
    const rows = [["this step", now], [meanLabel(this.run), mean]];
    this.bars.replaceChildren(...rows.flatMap(([label, split]) => {
      if (!split) return [];
      const parts = this.kinds.map(({ name }, at) => [name, split[at], name]);
      return [el("span", {}, label), bar(parts, label)];
    }));
    this.body.replaceChildren(...this.kinds.map(({ name, meaning }, at) => this.row(name, meaning, at, now, mean)));
  }

  row(name, meaning, at, now, mean) {
    const number = (text) => el("td", { class: "number" }, text);
    return el("tr", {},
      el("th", { scope: "row" }, el("i", { class: `swatch kind-${name}` }), name),
      number(now ? percent(now[at], this.slots) : "–"),
      number(now ? shownNumber(now[at]) : "–"),
      number(mean ? percent(mean[at], this.slots) : "–"),
      el("td", { class: "meaning" }, meaning));
  }
}

function isOfAll(run) {
  const [first, stop] = run.meanWindow;
  return first === 0 && stop === run.payload.num_steps;
}

function meanLabel(run) {
  return !run.meanWaste || isOfAll(run) ? "mean of all steps" : "mean while requests waited";
}

// Over which steps the mean was taken, and that it is not of this page alone where the page holds a part of a run.
export function meanWords(run) {
  const [first, stop, why] = run.meanWindow;
  const steps = stop - first > 1 ? `steps ${shownNumber(first)} to ${shownNumber(stop - 1)}` : `step ${shownNumber(first)}`;
  const over = isOfAll(run) ? why : `${steps}: ${why}`;
  const isPart = run.log.first > 0 || run.log.stop < run.payload.total;
  return `The mean is over ${over}${isPart ? ", of the whole run, not only of the part that this page holds" : ""}.`;
}
