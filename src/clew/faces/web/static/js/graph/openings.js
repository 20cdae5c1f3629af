// The first words of thoughts, fetched in blocks when they come into view and forgotten when they
// were not looked at for long: a session may be much larger than its visible part.

const BLOCK = 200,
  KEPT = 40;
const RETRY = 2_000;

export class Openings {
  // load(after seq, limit) -> thoughts with their openings; onLoaded() when something new can be
  // shown.
  constructor(model, load, onLoaded) {
    this.model = model;
    this.load = load;
    this.onLoaded = onLoaded;
    this.blocks = new Map();
    this.loading = new Map();
  }

  // The opening of a thought; undefined while it is loading.
  get(index) {
    const number = Math.floor(index / BLOCK);
    const block = this.blocks.get(number);
    if (block) this.#touch(number, block);
    const found = block?.get(index);
    if (found === undefined) this.#fetch(number);
    return found;
  }

  put(index, thought) {
    const number = Math.floor(index / BLOCK);
    const block = this.blocks.get(number) ?? new Map();
    block.set(index, { text: thought.thought, cut: thought.length > thought.thought.length });
    this.#touch(number, block);
  }

  // Resolves to the opening, or to undefined if it cannot be loaded.
  async wait(index) {
    for (let tries = 0; tries < 3 && this.get(index) === undefined; tries++) await Promise.all(this.loading.values());
    return this.get(index);
  }

  #touch(number, block) {
    this.blocks.delete(number);
    this.blocks.set(number, block);
    if (this.blocks.size > KEPT) this.blocks.delete(this.blocks.keys().next().value);
  }

  #fetch(number) {
    if (this.loading.has(number)) return;
    this.loading.set(
      number,
      this.#load(number).finally(() => this.loading.delete(number)),
    );
  }

  async #load(number) {
    const before = this.model.order[number * BLOCK - 1];
    try {
      for (const thought of await this.load(before ? before.seq : 0, BLOCK)) {
        const index = this.model.indexes.get(this.model.id(thought.thoughtNumber, thought.branchId));
        if (index !== undefined) this.put(index, thought);
      }
      this.onLoaded();
    } catch {
      setTimeout(this.onLoaded, RETRY);
    }
  }
}
