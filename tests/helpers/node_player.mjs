// Runs the player's modules for the tests: a JSON request a line on standard input, a JSON answer a line back.
//
//   node node_player.mjs PLAYER_MODULE

import { createInterface } from "node:readline";

const player = await import(process.argv[2]);
let run = null;

const answers = {
  async load({ payload }) {
    run = await player.Run.of(payload);
    return [run.log.first, run.log.stop];
  },

  // The facts at each of the places, in the order in which they are asked for, as texts.
  async facts({ places }) {
    const told = [];
    for (const place of places) {
      await run.go(place);
      if (run.place !== place) throw new Error(`asked for ${place}, came to ${run.place}`);
      told.push(JSON.stringify(run.state.facts()));
    }
    return told;
  },

  // Several moves at once: the last one counts.
  async race({ places }) {
    const counted = await Promise.all(places.map((place) => run.go(place)));
    return [counted, run.place, JSON.stringify(run.state.facts())];
  },

  // The free blocks at each place, the next to be taken first; null where nothing is known of them.
  async queues({ places }) {
    const told = [];
    for (const place of places) {
      await run.go(place);
      told.push(run.state.queue && run.state.queue.blocks());
    }
    return told;
  },

  // Where keys would lead from each place, and which blocks the last event touched.
  async questions({ places, times, groups, followed }) {
    const told = [];
    run.followed = followed;
    for (const place of places) {
      await run.go(place);
      const events = [-1, 1].map((direction) => run.eventPlace(direction));
      const steps = [-10, -1, 1, 10].map((count) => run.stepPlace(count));
      const jumps = groups.flatMap((group) => [-1, 1].map((direction) => run.jumpPlace(group, direction)));
      const changed = run.cursor.changed.flatMap((table) => (Array.isArray(table) ? table : [table.range]));
      told.push({ step: run.step, events, steps, jumps, changed, between: place > run.log.first && run.isBetween(place) });
    }
    run.followed = null;
    return { told, at: times.map((time) => run.placeAtTime(time)) };
  },

  // The cells of the map, of so many blocks each, at each place.
  async cells({ places, cellBlocks, onHost }) {
    const told = [];
    for (const place of places) {
      await run.go(place);
      const { state } = run;
      const holders = player.holdersOf(state, onHost);
      const count = onHost ? state.numHostBlocks : state.numBlocks;
      const cached = onHost ? [] : state.cached;
      const cells = player.mapCells(holders, count, state.blockSize, cellBlocks, cached);
      told.push(cells.map(({ written, empty, rounding, shared, cached: kept, owner }) => [
        written, empty, rounding, shared, kept, owner === null ? null : holders[owner].seq,
      ]));
    }
    return told;
  },

  async split({ places }) {
    const told = [];
    for (const place of places) {
      await run.go(place);
      told.push(player.momentSplit(run.state));
    }
    return told;
  },

  // The mean split over the run as the page says it, and over which steps.
  async means() {
    const slots = run.geometry[0] * run.geometry[1];
    return [run.meanWaste.map((part) => player.percent(part, slots)), player.meanWords(run)];
  },

  // How many blocks or cells stand in a row of the map, at each width.
  async rows({ count, blockSize, widths }) {
    return widths.map((width) => player.layoutOf(count, blockSize, width).perRow);
  },

  async percents({ pairs }) {
    return pairs.map(([part, whole]) => player.percent(part, whole));
  },

  async block({ block, place }) {
    await run.go(place);
    return run.placesOfBlock(block, 1e6);
  },

  async sentences({ places }) {
    return Promise.all(places.map((place) => run.log.sentence(place)));
  },

  // What is said of something typed, or the place or name that it means.
  async typed({ what, texts }) {
    return texts.map((text) => {
      try {
        return run[what](text);
      } catch (error) {
        return { sentence: error.message };
      }
    });
  },

  // Two runs, the first one moved to places: where the other is then.
  async journey({ payloads, places }) {
    const runs = await Promise.all(payloads.map((payload) => player.Run.of(payload)));
    const journey = new player.Journey(runs);
    const told = [];
    for (const place of places) {
      await journey.go(place);
      told.push(runs.map(({ place: there }) => there));
    }
    return told;
  },

  async keys() {
    return player.KEYS;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { op, ...asked } = JSON.parse(line);
  let answer;
  try {
    answer = { answer: await answers[op](asked) };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
