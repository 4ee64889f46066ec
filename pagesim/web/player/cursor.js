// A place in a run's events, and the run's state there.
//
// Keyframes (copies of the state) are left behind at the borders of chunks as the cursor goes forward, so that going
// back is a fold of less than a chunk. Where copies are large, every other one is given up again and again.

import { changedTables } from "./blocks.js";
import { RunState } from "./state.js";

const MOST_KEPT = 6_000_000; // entries of all keyframes together

export class Cursor {
  constructor(log, geometry, start, queue = null) {
    this.log = log;
    this.place = log.first;
    this.state = new RunState(geometry, start, queue);
    this.event = null; // that led here; null at the very start
    this.changed = []; // tables of blocks that it touched
    this.keyframes = new Map([[0, this.state.copy()]]); // by the number of the chunk that they stand in front of
    this.kept = 0;
    this.every = 1; // how many chunks there are between two keyframes
    this.moves = 0;
  }

  // Go to a place; beyond the ends, to the end. Of several moves at once, the last one counts: true, if this did.
  async seek(place) {
    const { log } = this;
    const move = ++this.moves;
    const target = Math.min(Math.max(place, log.first), log.stop);
    let [state, at] = this.nearest(target);
    if (target === log.first) return this.arrive(target, state, null, []);
    while (log.chunkOf(target) > log.chunkOf(at + 1)) {
      const number = log.chunkOf(at + 1);
      const events = await log.chunks.get(number);
      if (move !== this.moves) return false;
      if (state === this.state) state = state.copy(); // nobody sees it half way
      for (let i = at - log.startOf(number); i < events.length; i++) state.apply(events[i]);
      at = log.startOf(number + 1);
      this.keep(number + 1, state);
    }
    const number = log.chunkOf(target);
    const events = log.chunks.now(number) ?? (await log.chunks.get(number));
    if (move !== this.moves) return false;
    const start = log.startOf(number);
    while (at < target - 1) state.apply(events[at++ - start]);
    const event = events[target - 1 - start];
    if (at === target) return this.arrive(target, state, event, this.changed);
    const changed = changedTables(event, state).map(whole);
    state.apply(event);
    return this.arrive(target, state, event, changed);
  }

  arrive(place, state, event, changed) {
    Object.assign(this, { place, state, event, changed });
    return true;
  }

  // A state to go on from, and its place: the current one, or a copy of the nearest keyframe.
  nearest(target) {
    const { log } = this;
    if (target === this.place) return [this.state, this.place];
    let number = Math.max(log.chunkOf(target), 0);
    while (!this.keyframes.has(number)) number -= 1;
    const start = log.startOf(number);
    if (this.place < target && this.place >= start) return [this.state, this.place];
    return [this.keyframes.get(number).copy(), start];
  }

  keep(number, state) {
    if (number % this.every || this.keyframes.has(number)) return;
    this.keyframes.set(number, state.copy());
    this.kept += state.size;
    if (this.kept <= MOST_KEPT) return;
    this.every *= 2;
    this.kept = 0;
    for (const [at, keyframe] of this.keyframes) {
      if (at % this.every) this.keyframes.delete(at);
      else this.kept += keyframe.size;
    }
  }
}

// A table as it is now: the list may change later.
function whole(table) {
  return Array.isArray(table) ? table.slice() : table;
}
