// One run that is looked at: where one stands in it, whom one follows, which block is inspected.
//
// Questions say where a key would lead; `go` goes there. Knows nothing about screens or keys.

import { anyLists, changedTables } from "./blocks.js";
import { Cursor } from "./cursor.js";
import { FreeQueue } from "./free_queue.js";
import { Log, summed, unpacked } from "./log.js";
import { RunState, sizeOf } from "./state.js";
import { bisectLeft, bisectRight, clamp, clean, shownNumber } from "./words.js";

const SLICE = 20_000; // events between two breaths

export class Run {
  // `contents` is the payload's, unpacked; so are `freeBlocks`, those at its start, or null.
  constructor(payload, contents, freeBlocks) {
    this.payload = payload;
    this.name = payload.name;
    this.geometry = payload.geometry;
    this.log = new Log(payload);
    const queue = freeBlocks && new FreeQueue(freeBlocks, payload.free_queue.keep_unkeyed_first);
    this.cursor = new Cursor(this.log, payload.geometry, payload.start, queue);
    this.steps = summed(contents.steps);
    this.timePlaces = summed(contents.times[0]);
    this.times = summed(contents.times[1]);
    this.jumps = new Map(Object.entries(contents.jumps).map(([of, places]) => [of, summed(places)]));
    this.ofSeq = new Map(contents.of_seq.map(([seq, places]) => [seq, summed(places)]));
    this.ofRequest = new Map(contents.of_request.map(([name, places]) => [name, summed(places)]));
    this.between = contents.between;
    this.stepEnds = summed(contents.step_ends);
    this.waste = Object.fromEntries(Object.entries(contents.waste).map(([kind, slots]) => [kind, summed(slots)]));
    [this.meanWaste, ...this.meanWindow] = contents.mean_waste.length ? contents.mean_waste : [null];
    this.lanes = new Map(contents.lanes.map(([seq, name, flat]) => [seq, { name, flat }]));
    this.requests = new Map(); // their sequences by request
    this.samples = new Map();
    for (const [seq, request, sample] of contents.sequences) this.know(seq, request, sample);
    for (const request of this.ofRequest.keys()) this.know(null, request, 0);
    this.followed = null; // the name of a request or sample
    this.block = null; // that is inspected
    this.touched = null; // the places of every block, once somebody asked
  }

  static async of(payload) {
    const freeBlocks = payload.free_queue ? await unpacked(payload.free_queue.blocks) : null;
    return new Run(payload, await unpacked(payload.contents), freeBlocks);
  }

  know(seq, request, sample) {
    if (!this.requests.has(request)) this.requests.set(request, []);
    if (seq === null) return;
    this.requests.get(request).push(seq);
    this.samples.set(`${request}.${sample}`, seq);
  }

  get place() {
    return this.cursor.place;
  }

  get state() {
    return this.cursor.state;
  }

  go(place) {
    return this.cursor.seek(place);
  }

  // -- where in the run ------------------------------------------------------------------------------------

  // The number of the step planned last at a place, counted from 0 in the whole log; null before the first.
  stepAt(place) {
    const number = this.payload.first_step + bisectRight(this.steps, place) - 1;
    return number < 0 ? null : number;
  }

  get step() {
    return this.stepAt(this.place);
  }

  // Does the event that leads to a place belong to no step?
  isBetween(place) {
    return this.between[place - this.log.first - 1] === "1";
  }

  // Where the step stands among those of this page, or null.
  get stepPosition() {
    const position = bisectRight(this.steps, this.place) - 1;
    return position < 0 ? null : position;
  }

  // A place of one's own for each value of a slider: the start, each step, the end.
  get numStops() {
    return this.steps.length + 2;
  }

  get stop() {
    if (this.place >= this.log.stop) return this.steps.length + 1;
    return this.place <= this.log.first ? 0 : bisectRight(this.steps, this.place);
  }

  placeOfStop(stop) {
    if (stop <= 0) return this.log.first;
    return stop > this.steps.length ? this.log.stop : this.steps[stop - 1];
  }

  // -- where keys lead; null: nowhere ----------------------------------------------------------------------

  // The next event's place or the one before; of somebody who is followed, only the own events count.
  eventPlace(direction) {
    if (this.followed !== null) return nearest(this.placesOf(this.followed), this.place, direction);
    const place = this.place + direction;
    return place >= this.log.first && place <= this.log.stop ? place : null;
  }

  // The place of the step so many after (before) this one; beyond the last, the end.
  stepPlace(steps) {
    const { place } = this;
    const here = steps >= 0 ? bisectRight(this.steps, place) - 1 : bisectLeft(this.steps, place);
    const number = here + steps;
    if (number < 0) return this.log.first;
    return number < this.steps.length ? this.steps[number] : this.log.stop;
  }

  jumpPlace(group, direction) {
    const places = this.jumps.get(group) ?? [];
    if (this.followed === null) return nearest(places, this.place, direction);
    const own = new Set(this.placesOf(this.followed));
    return nearest(places.filter((place) => own.has(place)), this.place, direction);
  }

  // The last place at which no more time than this has passed.
  placeAtTime(timeNs) {
    const later = bisectRight(this.times, timeNs);
    return later < this.times.length ? Math.max(this.timePlaces[later] - 1, this.log.first) : this.log.stop;
  }

  // Where this run stands when another one, beside it, has come to a time. Where this one's clock stands exactly then,
  // and the other has not planned its next step, neither has this one.
  placeBeside(timeNs, other) {
    const known = bisectRight(this.times, timeNs) - 1;
    const since = known < 0 ? this.payload.start.time_ns : this.times[known];
    if (since !== timeNs || other.state.in_step || other.place === other.log.stop) return this.placeAtTime(timeNs);
    return known < 0 ? this.log.first : this.timePlaces[known];
  }

  // "12" or "s12": the place of step 12; "e345": event 345. Throws an Error with a sentence.
  placeTyped(text) {
    const found = /^([se]?)\s*(\d{1,15})$/i.exec(text.trim().replace(/[,_]/g, ""));
    if (!found) throw new Error(`${quoted(text)} is no step (12) and no event (e345)`);
    const number = Number(found[2]);
    if (found[1].toLowerCase() === "e") return this.placeOfEvent(number);
    const at = number - this.payload.first_step;
    if (at >= 0 && at < this.steps.length) return this.steps[at];
    if (!this.steps.length) throw new Error("this page holds no steps; e1 is a run's first event");
    const first = this.payload.first_step;
    const last = first + this.steps.length - 1;
    const range = `${shownNumber(first)} to ${shownNumber(last)}`;
    throw new Error(`step ${shownNumber(number)} is not here: this page holds steps ${range}`);
  }

  placeOfEvent(number) {
    if (number >= this.log.first && number <= this.log.stop) return number;
    const range = `${shownNumber(this.log.first + 1)} to ${shownNumber(this.log.stop)}`;
    throw new Error(`event ${shownNumber(number)} is not here: this page holds events ${range}`);
  }

  // -- whom one follows ------------------------------------------------------------------------------------

  // The request or sample so called, else the first request whose name begins so. Throws an Error with a sentence.
  requestTyped(text) {
    const wanted = text.trim();
    if (this.requests.has(wanted) || this.samples.has(wanted)) return wanted;
    const names = [...this.requests.keys()];
    const found = names.find((name) => name.startsWith(wanted));
    if (wanted && found !== undefined) return found;
    if (!names.length) throw new Error("this page knows no request");
    const some = names.slice(0, 3).map(clean).join(", ");
    throw new Error(`no request begins with ${quoted(wanted)}; there are ${shownNumber(names.length)}: ${some}, …`);
  }

  sequencesOf(name) {
    if (this.requests.has(name)) return this.requests.get(name);
    return this.samples.has(name) ? [this.samples.get(name)] : [];
  }

  // Places just after the events that name the request or one of its sequences.
  placesOf(name) {
    const parts = this.sequencesOf(name).map((seq) => this.ofSeq.get(seq) ?? []);
    parts.push(this.ofRequest.get(name) ?? []);
    return [...new Set(parts.flat())].sort((one, other) => one - other);
  }

  // A sequence of whom one follows: a running one, if there is one; null: nobody is followed.
  get focus() {
    if (this.followed === null) return null;
    const seqs = this.sequencesOf(this.followed);
    const { running, sequences } = this.state;
    const found = [...seqs.filter((seq) => running.has(seq)), ...seqs.filter((seq) => sequences.has(seq)), ...seqs];
    return found[0] ?? null;
  }

  // The same, if it holds memory now: else the others need not step back.
  get holdingFocus() {
    const view = this.state.sequences.get(this.focus);
    return view && sizeOf(view.table) ? view.seq : null;
  }

  // -- blocks ----------------------------------------------------------------------------------------------

  // "7" on the device; "h2" on the host. Throws an Error with a sentence.
  blockTyped(text) {
    const [numBlocks, , numHost] = this.geometry;
    const found = /^#?(h?)(\d{1,15})$/.exec(text.trim().replace(/,/g, "").toLowerCase());
    const block = found ? (found[1] ? numBlocks : 0) + Number(found[2]) : -1;
    if (block >= 0 && block < numBlocks + numHost) return block;
    const host = numHost ? `, and h0 to h${shownNumber(numHost - 1)} on the host` : "";
    throw new Error(`${quoted(text)} is no block: they are 0 to ${shownNumber(numBlocks - 1)}${host}`);
  }

  // The places around this one of so many events, of all or of whom one follows.
  placesAround(rows) {
    const { place, log } = this;
    if (this.followed === null) {
      const first = clamp(place - (rows >> 1), log.first + 1, Math.max(log.stop - rows + 1, log.first + 1));
      const count = Math.min(rows, log.stop - first + 1);
      return Array.from({ length: Math.max(count, 0) }, (_, at) => first + at);
    }
    const places = this.placesOf(this.followed);
    const first = clamp(bisectRight(places, place) - (rows >> 1) - 1, 0, Math.max(places.length - rows, 0));
    return places.slice(first, first + rows);
  }

  // The last places up to here, newest first, of events that touched a block. The first time, all events are gone
  // through.
  async placesOfBlock(block, most) {
    this.touched ??= this.lookThrough();
    const places = (await this.touched).get(block) ?? [];
    const stop = bisectRight(places, this.place);
    return places.slice(Math.max(stop - most, 0), stop).reverse();
  }

  async lookThrough() {
    const touched = new BlockPlaces();
    const state = new RunState(this.geometry, this.payload.start);
    for (let place = this.log.first + 1; place <= this.log.stop; place++) {
      const event = this.log.eventNow(place) ?? (await this.log.event(place));
      if (event[0] !== "planned" && event[0] !== "failed") touched.add(place, changedTables(event, state));
      state.apply(event);
      if (place % SLICE === 0) await new Promise((done) => setTimeout(done));
    }
    return touched;
  }
}

// Places by block; contiguous runs are not listed slot by slot.
class BlockPlaces {
  constructor() {
    this.ofBlock = new Map();
    this.runs = [];
  }

  add(place, tables) {
    for (const table of tables) {
      if (!Array.isArray(table)) {
        this.runs.push([place, table]);
        continue;
      }
      for (const block of table) {
        if (!this.ofBlock.has(block)) this.ofBlock.set(block, []);
        const places = this.ofBlock.get(block);
        if (places.at(-1) !== place) places.push(place);
      }
    }
  }

  get(block) {
    const runs = this.runs.filter(([, table]) => anyLists([table], block)).map(([place]) => place);
    const all = new Set([...(this.ofBlock.get(block) ?? []), ...runs]);
    return [...all].sort((one, other) => one - other);
  }
}

// The first place after (before) this one in a rising list; null: there is none.
function nearest(places, place, direction) {
  return places[direction > 0 ? bisectRight(places, place) : bisectLeft(places, place) - 1] ?? null;
}

function quoted(text) {
  return `“${clean(text.trim().slice(0, 40))}”`;
}
