// A session as the graph sees it: thoughts by id, chains in order, and the state at any earlier moment.

export class SessionModel {
  constructor() {
    this.clear();
  }

  clear() {
    this.session = null;
    this.thoughts = new Map();
    this.order = [];
    this.chains = new Map();
    this.names = new Map();
  }

  load(snapshot) {
    this.clear();
    this.session = snapshot.session;
    const branches = Object.values(snapshot.branches ?? {});
    for (const branch of branches) this.names.set(branch.id, branch.name || branch.id);
    const all = [...snapshot.thoughts, ...branches.flatMap((branch) => branch.thoughts)];
    all.sort((a, b) => a.seq - b.seq);
    for (const thought of all) this.add(thought);
  }

  // True when the thought is new: the same event may come twice.
  add(thought) {
    if (this.thoughts.has(thought.id)) return false;
    this.thoughts.set(thought.id, thought);
    this.order.push(thought);
    const chain = thought.branchId ?? "";
    if (!this.chains.has(chain)) this.chains.set(chain, []);
    this.chains.get(chain).push(thought);
    return true;
  }

  get length() {
    return this.order.length;
  }

  // The chains as they were after the first `count` thoughts.
  at(count) {
    const chains = new Map();
    for (const thought of this.order.slice(0, count)) {
      const chain = thought.branchId ?? "";
      if (!chains.has(chain)) chains.set(chain, []);
      chains.get(chain).push(thought);
    }
    return chains;
  }

  id(number, branch) {
    return branch ? `${this.session.id}:${branch}:${number}` : `${this.session.id}:${number}`;
  }

  // Where a branch leaves another chain.
  origin(chain) {
    const first = this.chains.get(chain)?.find((thought) => thought.branchFromThought !== undefined);
    return first ? this.id(first.branchFromThought, first.branchFromBranch) : null;
  }

  revised(thought) {
    if (!thought.isRevision || thought.revisesThought === undefined) return null;
    const here = this.id(thought.revisesThought, thought.revisesBranch ?? thought.branchId);
    return this.thoughts.has(here) ? here : this.id(thought.revisesThought, thought.revisesBranch);
  }

  name(chain) {
    return this.names.get(chain) ?? chain;
  }
}
