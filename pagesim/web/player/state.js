// The state of a run after some of its events: who holds which blocks, how full they are, who waits.
//
// The fold of pagesim.replay.run_state, in JavaScript: a test feeds both the same events and compares all facts at
// every place. A table is a list of blocks, or {range: [first, stop]} where the memory is contiguous.

export function isRun(blocks) {
  return !Array.isArray(blocks);
}

export function sizeOf(blocks) {
  return isRun(blocks) ? Math.max(blocks.range[1] - blocks.range[0], 0) : blocks.length;
}

export function firstOf(blocks) {
  return isRun(blocks) ? blocks.range[0] : blocks[0];
}

export function lists(blocks, block) {
  if (!isRun(blocks)) return blocks.includes(block);
  return block >= blocks.range[0] && block < blocks.range[1];
}

export class SequenceView {
  constructor(seq, request, sample, promptTokens, maxTokens, follows) {
    this.seq = seq;
    this.request = request;
    this.sample = sample;
    this.promptTokens = promptTokens;
    this.maxTokens = maxTokens;
    this.status = "waiting";
    this.written = 0;
    this.outputs = 0;
    this.preemptions = 0;
    this.wanted = 0;
    this.table = [];
    this.logprob = null;
    this.follows = follows;
    this.forked = false;
  }

  // As r1, r1.2; the first of several beams is r1.0, from the first choice on.
  get name() {
    return this.sample || this.logprob !== null ? `${this.request}.${this.sample}` : this.request;
  }

  get tokens() {
    return this.promptTokens + this.outputs;
  }

  copy() {
    const twin = Object.assign(Object.create(SequenceView.prototype), this);
    twin.table = isRun(this.table) ? this.table : this.table.slice();
    return twin;
  }

  facts() {
    return [
      this.seq, this.request, this.sample, this.promptTokens, this.maxTokens, this.status, this.written,
      this.outputs, this.preemptions, this.wanted, this.table, this.logprob, this.follows, this.forked,
    ];
  }

  static of(facts) {
    const [seq, request, sample, promptTokens, maxTokens, status, written] = facts;
    const view = new SequenceView(seq, request, sample, promptTokens, maxTokens, facts[12]);
    Object.assign(view, { status, written, outputs: facts[7], preemptions: facts[8] });
    const table = isRun(facts[10]) ? facts[10] : facts[10].slice();
    return Object.assign(view, { wanted: facts[9], table, logprob: facts[11], forked: facts[13] });
  }
}

const COUNTS = [
  "time_ns", "step", "in_step", "waiting", "num_held", "num_host_held", "num_arrived", "num_refused",
  "num_finished", "num_preemptions",
];

export class RunState {
  // geometry is [blocks on the device, slots of a block, blocks on the host]; facts are another state's; queue is
  // its free queue, if one knows of it.
  constructor(geometry, facts, queue = null) {
    [this.numBlocks, this.blockSize, this.numHostBlocks] = geometry;
    for (const name of COUNTS) this[name] = facts[name];
    this.sequences = new Map(facts.sequences.map((view) => [view[0], SequenceView.of(view)]));
    this.running = new Set(facts.running);
    this.refCounts = new Map(facts.ref_counts);
    this.cached = new Set(facts.cached);
    this.planned = facts.planned;
    this.searches = new Map(facts.searches.map((arrival) => [arrival[1], arrival]));
    this.moving = new Set(facts.moving);
    this.queue = queue;
  }

  get numFree() {
    return this.numBlocks - this.num_held;
  }

  // O(sequences + held blocks + cached blocks)
  copy() {
    const twin = Object.assign(Object.create(RunState.prototype), this);
    twin.sequences = new Map();
    for (const [seq, view] of this.sequences) twin.sequences.set(seq, view.copy());
    twin.running = new Set(this.running);
    twin.refCounts = new Map(this.refCounts);
    twin.cached = new Set(this.cached);
    twin.searches = new Map(this.searches);
    twin.moving = new Set(this.moving);
    twin.queue = this.queue && this.queue.copy();
    return twin;
  }

  // What a copy costs, in entries.
  get size() {
    return this.refCounts.size * 2 + (this.queue?.ranks.size ?? 0) + this.cached.size + this.sequences.size * 8 + 64;
  }

  // All facts as plain values, as pagesim.web.plain tells them.
  facts() {
    const facts = Object.fromEntries(COUNTS.map((name) => [name, this[name]]));
    facts.sequences = [...this.sequences.values()].map((view) => view.facts());
    facts.running = [...this.running];
    facts.ref_counts = [...this.refCounts].sort((one, other) => one[0] - other[0]);
    facts.cached = [...this.cached];
    facts.planned = this.planned;
    facts.searches = [...this.searches.values()];
    facts.moving = [...this.moving].sort((one, other) => one - other);
    return facts;
  }

  // Kinds that are not known change nothing.
  apply(event) {
    this.queue?.apply(event, this);
    const handler = HANDLERS.get(event[0]);
    if (handler !== undefined) handler(this, event);
  }

  append(view, blocks) {
    const counts = this.refCounts;
    if (isRun(blocks)) {
      view.table = blocks;
      counts.set(blocks.range[0], 1);
      this.num_held += sizeOf(blocks);
      return;
    }
    for (const block of blocks) {
      view.table.push(block);
      const count = counts.get(block) ?? 0;
      counts.set(block, count + 1);
      if (!count) this.held(block, 1);
    }
  }

  dropAll(view) {
    if (isRun(view.table)) this.drop(view.table.range[0], sizeOf(view.table));
    else for (const block of view.table) this.drop(block, 1);
    view.table = [];
  }

  drop(block, size) {
    const count = this.refCounts.get(block) - 1;
    if (count) {
      this.refCounts.set(block, count);
    } else {
      this.refCounts.delete(block);
      this.held(block, -size);
    }
  }

  held(block, change) {
    if (block < this.numBlocks) this.num_held += change;
    else this.num_host_held += change;
  }

  wait(seq) {
    const view = this.sequences.get(seq);
    view.status = "waiting";
    this.running.delete(seq);
    return view;
  }

  run(seq) {
    const view = this.sequences.get(seq);
    view.status = "running";
    this.running.add(seq);
    return view;
  }
}

// One small function an event kind; the fields are in the order of pagesim.web.plain.
const HANDLERS = new Map(Object.entries({
  arrived(state, event) {
    state.num_arrived += 1;
    if (event[6] !== null) state.searches.set(event[1], event);
  },
  refused(state) {
    state.num_refused += 1;
  },
  submitted(state, [, seq, request, sample, prompt, most, , follows]) {
    state.sequences.set(seq, new SequenceView(seq, request, sample, prompt, most, Boolean(follows)));
  },
  admitted(state, [, seq, , cachedTokens]) {
    state.run(seq).written = cachedTokens;
  },
  preempted(state, [, seq]) {
    state.wait(seq).preemptions += 1;
    state.num_preemptions += 1;
  },
  returned(state, [, seq]) {
    state.run(seq);
  },
  requeued(state, [, seq]) {
    state.wait(seq);
  },
  finished(state, [, seq]) {
    state.sequences.delete(seq);
    state.running.delete(seq);
    state.num_finished += 1;
  },
  forked(state, [, parentSeq, childSeq, tokens]) {
    const parent = state.sequences.get(parentSeq);
    const child = state.run(childSeq);
    child.forked = parent.forked = true;
    child.written = tokens;
    state.moving.delete(childSeq);
    if (!child.outputs) child.outputs = parent.outputs; // else it forked before, and comes back
  },
  taken(state, [, seq, blocks, wanted]) {
    const view = state.sequences.get(seq);
    state.append(view, blocks);
    view.wanted += wanted;
  },
  shared(state, [, seq, blocks]) {
    state.append(state.sequences.get(seq), blocks);
  },
  replaced(state, [, seq, old, fresh]) {
    const { table } = state.sequences.get(seq);
    table[table.indexOf(old)] = fresh;
    state.refCounts.set(fresh, 1);
    state.num_held += 1;
    state.drop(old, 1);
  },
  moved(state, [, seq, old, fresh, wanted]) {
    const view = state.sequences.get(seq);
    state.drop(old.range[0], sizeOf(old));
    state.append(view, fresh);
    view.wanted = wanted;
  },
  swapped_out(state, [, seq, blocks]) {
    const view = state.sequences.get(seq);
    state.dropAll(view);
    state.append(view, blocks);
    view.status = "swapped";
  },
  swapped_in(state, [, seq, blocks]) {
    const view = state.sequences.get(seq);
    state.dropAll(view);
    state.append(view, blocks);
  },
  freed(state, [, seq]) {
    const view = state.sequences.get(seq);
    state.dropAll(view);
    view.wanted = view.written = 0;
  },
  published(state, [, , blocks]) {
    for (const block of blocks) state.cached.add(block);
  },
  withdrawn(state, [, , blocks]) {
    for (const block of blocks) state.cached.delete(block);
  },
  evicted(state, [, block]) {
    state.cached.delete(block);
  },
  cache_reset(state) {
    state.cached.clear();
  },
  planned(state, event) {
    const [, step, seqs, counts, waiting] = event;
    Object.assign(state, { step, waiting, in_step: true, planned: event });
    seqs.forEach((seq, at) => {
      state.sequences.get(seq).written += counts[at];
    });
  },
  failed(state) {
    state.in_step = false;
    const [, , seqs, counts] = state.planned;
    seqs.forEach((seq, at) => {
      state.sequences.get(seq).written -= counts[at];
    });
  },
  sampled(state, [, seqs]) {
    for (const seq of seqs) state.sequences.get(seq).outputs += 1;
  },
  beams_chosen(state, [, seqs, parents, logprobs]) {
    seqs.forEach((seq, at) => {
      const view = state.sequences.get(seq);
      view.outputs += 1;
      view.logprob = logprobs[at];
    });
    state.moving = new Set(seqs.filter((seq, at) => seq !== parents[at]));
  },
  ranked(state, [, seqs, outputTokens, logprobs]) {
    seqs.forEach((seq, at) => {
      const view = state.sequences.get(seq);
      view.outputs = outputTokens[at];
      view.logprob = logprobs[at];
    });
  },
  done(state, [, , timeNs]) {
    state.time_ns = timeNs;
    state.in_step = false;
  },
  clock(state, [, timeNs]) {
    state.time_ns = timeNs;
  },
  ended(state, [, timeNs]) {
    state.time_ns = timeNs;
  },
}));
