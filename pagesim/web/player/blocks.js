// Which blocks an event touched, and what a block is called. Knows nothing about drawing.

import { isRun } from "./state.js";

// "7" on the device, "h2" for number 2 of the host's.
export function blockName(block, state) {
  return block < state.numBlocks ? String(block) : `h${block - state.numBlocks}`;
}

// The blocks that an event took, gave back, marked, or (a step) writes to, as a list of tables; `before` is the state
// without the event. As pagesim.replay.memory_map.changed_blocks.
export function changedTables(event, before) {
  if (event === null) return [];
  const table = (seq) => before.sequences.get(seq)?.table ?? [];
  switch (event[0]) {
    case "planned":
      return writtenTables(event, before, 0);
    case "failed":
      return before.planned ? writtenTables(before.planned, before, 1) : [];
    case "freed":
      return [table(event[1])];
    case "swapped_out":
    case "swapped_in":
      return [table(event[1]), event[2]];
    case "replaced":
      return [[event[2], event[3]]];
    case "moved":
      return [event[2], event[3]];
    case "copied":
      return [[event[1], event[2]]];
    case "evicted":
      return [[event[1]]];
    case "cache_reset":
      return [[...before.cached]];
    case "taken":
    case "shared":
    case "published":
    case "withdrawn":
      return [event[2]];
    default:
      return [];
  }
}

// Where a step's tokens go; with `undone` 1, where they would have gone.
function writtenTables([, , seqs, counts], before, undone) {
  const size = before.blockSize;
  return seqs.map((seq, at) => {
    const { table, written } = before.sequences.get(seq);
    const start = written - counts[at] * undone;
    const first = Math.floor(start / size);
    const stop = Math.ceil((start + counts[at]) / size);
    if (!isRun(table)) return table.slice(first, stop);
    const [from, to] = table.range;
    return { range: [Math.min(from + first, to), Math.min(from + stop, to)] };
  });
}

export function anyLists(tables, block) {
  return tables.some((table) =>
    isRun(table) ? block >= table.range[0] && block < table.range[1] : table.includes(block),
  );
}
