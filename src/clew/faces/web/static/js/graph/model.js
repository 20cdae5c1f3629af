// A session as the graph sees it: every thought without its text, the chains they form, and the
// state at any earlier moment. Adding a thought costs the same however many there are.

import { mixed, textMark } from "./marks.js";

export class SessionModel {
  constructor(session = null) {
    this.session = session;
    this.order = [];
    this.indexes = new Map();
    this.chains = new Map();
    this.names = new Map();
    this.revisers = new Map();
    this.revisions = 0;
  }

  get length() {
    return this.order.length;
  }

  get branches() {
    return this.chains.size - (this.chains.has("") ? 1 : 0);
  }

  // The new record; null when the thought is known: the same event may come twice.
  add(thought) {
    const name = thought.branchId ?? "";
    const id = this.id(thought.thoughtNumber, name);
    if (this.indexes.has(id)) return null;
    const chain = this.#chain(name, thought);
    const record = {
      id,
      chain: name,
      index: this.order.length,
      place: chain.indexes.length,
      number: thought.thoughtNumber,
      seq: thought.seq,
      kind: thought.type ?? (thought.isRevision ? "R" : ""),
      at: Date.parse(thought.timestamp),
      critique: Boolean(thought.critique),
      revises: thought.revisesThought === undefined ? null : this.id(thought.revisesThought, thought.revisesBranch),
      revised: thought.isRevision ? (thought.revisesThought ?? "") : null,
    };
    this.indexes.set(id, record.index);
    this.order.push(record);
    chain.indexes.push(record.index);
    chain.marks.push(mixed(chain.marks.at(-1) ?? 0, textMark(`${record.number} ${record.kind} ${record.revised}`)));
    this.#note(record);
    return record;
  }

  #chain(name, first) {
    if (!this.chains.has(name)) {
      const origin =
        name && first.branchFromThought !== undefined
          ? this.find(this.id(first.branchFromThought, first.branchFromBranch))
          : null;
      this.chains.set(name, { name, origin, indexes: [], marks: [], mark: textMark(name) });
    }
    return this.chains.get(name);
  }

  #note(record) {
    if (record.revised !== null) this.revisions += 1;
    const revised = record.revises && this.find(record.revises);
    if (!revised) return;
    if (!this.revisers.has(revised.index)) this.revisers.set(revised.index, []);
    this.revisers.get(revised.index).push(record.index);
  }

  find(id) {
    return this.order[this.indexes.get(id)] ?? null;
  }

  // The record at a place of a chain.
  at(chain, place) {
    return this.order[this.chains.get(chain).indexes[place]];
  }

  // How many thoughts of a chain are among the first `count` of all.
  countAt(chain, count) {
    const { indexes } = this.chains.get(chain);
    if (count === null || count > indexes.at(-1)) return indexes.length;
    let low = 0,
      high = indexes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (indexes[middle] < count) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  id(number, branch) {
    return branch ? `${this.session.id}:${branch}:${number}` : `${this.session.id}:${number}`;
  }

  name(chain) {
    return this.names.get(chain) ?? chain;
  }
}
