// A run's events and sentences, unpacked a chunk at a time when somebody looks at them.
//
// Knows nothing about what events mean.

const KEPT = 160; // unpacked chunks

// JSON, compressed, as text: what pagesim.web.bundle packs.
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(plain).text());
}

// A rising list that was told by its differences.
export function summed(differences) {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

class Chunks {
  constructor(texts) {
    this.texts = texts;
    this.ready = new Map();
    this.coming = new Map();
  }

  // The chunk if it is unpacked, else null.
  now(number) {
    return this.ready.get(number) ?? null;
  }

  async get(number) {
    if (this.ready.has(number)) return this.ready.get(number);
    if (!this.coming.has(number)) this.coming.set(number, this.unpack(number));
    return this.coming.get(number);
  }

  async unpack(number) {
    const chunk = await unpacked(this.texts[number]);
    this.coming.delete(number);
    if (this.ready.size >= KEPT) this.ready.delete(this.ready.keys().next().value);
    this.ready.set(number, chunk);
    return chunk;
  }
}

// Place p is the state after p events of the run; this holds the events from `first` + 1 to `stop`.
export class Log {
  constructor(payload) {
    this.first = payload.first;
    this.stop = payload.stop;
    this.chunk = payload.chunk;
    this.chunks = new Chunks(payload.events);
    this.sentenceChunks = new Chunks(payload.sentences);
  }

  // The number of the chunk in which the event that leads to a place is.
  chunkOf(place) {
    return Math.floor((place - this.first - 1) / this.chunk);
  }

  // The place in front of a chunk's first event.
  startOf(number) {
    return this.first + number * this.chunk;
  }

  // The event that leads to a place, if its chunk is unpacked, else null.
  eventNow(place) {
    return entryAt(this, this.chunks.now(this.chunkOf(place)), place);
  }

  async event(place) {
    return entryAt(this, await this.chunks.get(this.chunkOf(place)), place);
  }

  async sentence(place) {
    return entryAt(this, await this.sentenceChunks.get(this.chunkOf(place)), place);
  }
}

function entryAt(log, chunk, place) {
  return chunk && chunk[(place - log.first - 1) % log.chunk];
}
