// The order in which free blocks are handed out, and so the order in which cached content is evicted.
//
// The fold of pagesim.replay.free_queue: a test compares both at every place. It is told each event before the state
// takes it, and keeps a rank for every free block, the lowest to be taken next.

export class FreeQueue {
  constructor(blocks, keepUnkeyedFirst) {
    this.keepUnkeyedFirst = keepUnkeyedFirst;
    this.ranks = new Map(blocks.map((block, rank) => [block, rank]));
    this.lowest = 0;
    this.next = blocks.length;
  }

  copy() {
    const twin = Object.assign(Object.create(FreeQueue.prototype), this);
    twin.ranks = new Map(this.ranks);
    return twin;
  }

  // O(free blocks), in order
  blocks() {
    return [...this.ranks].sort((one, other) => one[1] - other[1]).map(([block]) => block);
  }

  // `before` is the state without the event.
  apply(event, before) {
    switch (event[0]) {
      case "taken":
      case "shared":
      case "swapped_in":
        for (const block of event[2]) this.ranks.delete(block);
        break;
      case "replaced":
        this.ranks.delete(event[3]);
        this.giveBack([event[2]], before);
        break;
      case "swapped_out":
      case "freed":
        this.giveBack([...before.sequences.get(event[1]).table].reverse(), before);
        break;
    }
  }

  giveBack(blocks, { refCounts, numBlocks, cached }) {
    const front = [];
    for (const block of blocks) {
      if (block >= numBlocks || refCounts.get(block) !== 1) continue;
      this.ranks.set(block, this.next++);
      if (this.keepUnkeyedFirst && !cached.has(block)) front.push(block);
    }
    for (const block of front.reverse()) this.ranks.set(block, --this.lowest);
  }
}
