// The runs of a page and moves through them: the active one moves, the other that is shown keeps to its time.
//
// Knows nothing about screens. `note` is what there is to say about the last move.

import { clean, shownNumber } from "./words.js";

export class Journey {
  // `shown` are the numbers of the one or two runs that are looked at, at first the outermost; `active` is which of these moves.
  constructor(runs) {
    this.runs = runs;
    this.shown = runs.length > 1 ? [0, runs.length - 1] : [0];
    this.active = 0;
    this.note = "";
  }

  // The one that moves.
  get run() {
    return this.runs[this.shown[this.active]];
  }

  get shownRuns() {
    return this.shown.map((number) => this.runs[number]);
  }

  // True, if no other move came in between.
  async go(place, note = "") {
    if (!(await this.run.go(place))) return false;
    this.note = note;
    return this.follow();
  }

  // Take the other run to the same simulated time.
  async follow() {
    const time = this.run.state.time_ns;
    let all = true;
    for (const run of this.shownRuns) {
      if (run !== this.run) all = (await run.go(run.placeBeside(time, this.run))) && all;
    }
    return all;
  }

  async events(direction) {
    const place = this.run.eventPlace(direction);
    if (place !== null) return this.go(place);
    const whose = this.run.followed === null ? "" : ` of ${clean(this.run.followed)}`;
    this.note = `no event${whose} ${direction > 0 ? "after" : "before"} this one`;
    return true;
  }

  steps(count, direction) {
    return this.go(this.run.stepPlace(count * direction));
  }

  ends(direction) {
    return this.go(direction > 0 ? this.run.log.stop : this.run.log.first);
  }

  async jump(group, direction) {
    const place = this.run.jumpPlace(group, direction);
    if (place !== null) return this.go(place, this.told(group, place));
    const whose = this.run.followed === null ? "" : ` of ${clean(this.run.followed)}`;
    this.note = `no ${group}${whose} ${direction > 0 ? "after" : "before"} this place`;
    return true;
  }

  told(group, place) {
    const places = this.run.jumps.get(group);
    return `${group} ${shownNumber(places.indexOf(place) + 1)} of ${shownNumber(places.length)}`;
  }

  // The run beside the other, or the first, becomes the active one; nothing moves.
  activate(at) {
    if (at < this.shown.length) this.active = at;
  }

  // Show another run in one of the two places.
  async show(at, number) {
    const other = this.shown[1 - at];
    this.shown[at] = number;
    if (other === number) this.shown[1 - at] = (number + 1) % this.runs.length;
    this.active = Math.min(this.active, this.shown.length - 1);
    await this.run.go(this.run.place);
    return this.follow();
  }
}
