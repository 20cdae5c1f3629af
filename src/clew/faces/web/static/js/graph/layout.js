// The layout. A chain runs like a snake: one row to the right, the next one back to the left, so
// that neighbours always touch. The lane of a branch is under the row in which it starts,
// recursively.
//
// Only lanes are stored; the position of a thought is computed from its lane and its index in it.
// So the cost of adding, finding and showing a thought does not grow with the number of thoughts.

import { mixed } from "./marks.js";

export const NODE = { width: 216, height: 92, gapX: 36, gapY: 30 };
export const HEADER = 30;
const INDENT = 28,
  AFTER = 18;
const STEP_X = NODE.width + NODE.gapX;
const STEP_Y = NODE.height + NODE.gapY;

export function columnsFor(width) {
  return Math.max(1, Math.min(12, Math.floor((width - 60) / STEP_X)));
}

export class Layout {
  // count: how many thoughts to show, from the first; null for all. folded: names of folded lanes.
  constructor(model, { columns, folded, count }) {
    this.model = model;
    this.columns = columns;
    this.folded = folded;
    this.lanes = new Map();
    this.root = lane("", null, Infinity, 0);
    this.sum = 0;
    this.shown = 0;
    this.width = NODE.width;
    this.lanes.set("", this.root);
    for (const name of model.chains.keys()) this.#extend(name, model.countAt(name, count));
  }

  // A thought was added to the model, at the end of its chain.
  grow(record) {
    this.#extend(record.chain, 1);
  }

  get height() {
    return this.root.inner;
  }

  get digest() {
    return mixed(this.sum, this.columns).toString(16).padStart(8, "0");
  }

  // The position of a thought; null if a lane above it is folded, or if it does not exist yet.
  place(record) {
    const lane = record && this.lanes.get(record.chain);
    if (!lane || record.place >= lane.count || hidden(lane)) return null;
    const row = Math.floor(record.place / this.columns);
    const at = upper(lane.lanes, (child) => child.row < row);
    const shift = at < lane.lanes.length ? lane.lanes[at].before : lane.spans;
    return { x: this.#x(lane, record.place), y: this.#top(lane) + row * STEP_Y + shift };
  }

  // Calls cell(lane, place, x, y) and header(lane, x, y) for the visible part. With a stride only
  // every n-th row is reported, for pictures in which rows are thinner than a pixel.
  visit(view, cell, header = (_lane, _x, _y) => {}, stride = 1) {
    this.#walk(this.root, 0, { view, cell, header, stride });
  }

  #extend(name, more) {
    if (!more) return;
    const lane = this.lanes.get(name) ?? this.#open(name);
    const before = this.#rows(lane);
    if (lane.count) this.sum = (this.sum - this.#term(lane)) >>> 0;
    lane.count += more;
    this.sum = (this.sum + this.#term(lane)) >>> 0;
    if (!hidden(lane)) {
      this.shown += more;
      this.width = Math.max(this.width, lane.x + Math.min(lane.count, this.columns) * STEP_X - NODE.gapX);
    }
    this.#stretch(lane, (this.#rows(lane) - before) * STEP_Y);
  }

  // A new lane under the row of its fork point. If that is unknown, it is placed at the end.
  #open(name) {
    const { origin } = this.model.chains.get(name);
    const parent = (origin && this.lanes.get(origin.chain)) ?? this.root;
    const row = origin ? Math.floor(origin.place / this.columns) : Infinity;
    const made = lane(name, parent, row, parent.x + INDENT);
    made.fork = origin ? origin.place : Infinity;
    made.folded = this.folded.has(name);
    const at = upper(parent.lanes, (other) => other.fork <= made.fork);
    made.before = at < parent.lanes.length ? parent.lanes[at].before : parent.spans;
    parent.lanes.splice(at, 0, made);
    this.lanes.set(name, made);
    this.#shift(parent, at + 1, HEADER + AFTER);
    return made;
  }

  #stretch(lane, by) {
    if (!by) return;
    lane.inner += by;
    if (lane.parent && !lane.folded) this.#shift(lane.parent, lane.parent.lanes.indexOf(lane) + 1, by);
  }

  // Everything in a lane from its n-th branch on moves down.
  #shift(lane, from, by) {
    for (let i = from; i < lane.lanes.length; i++) lane.lanes[i].before += by;
    lane.spans += by;
    this.#stretch(lane, by);
  }

  #rows(lane) {
    return Math.ceil(lane.count / this.columns);
  }

  #term(lane) {
    const chain = this.model.chains.get(lane.name);
    return mixed(mixed(chain.mark, chain.marks[lane.count - 1]), lane.count * 2 + (lane.folded ? 1 : 0));
  }

  #x(lane, place) {
    const row = Math.floor(place / this.columns),
      column = place % this.columns;
    return lane.x + (row % 2 ? this.columns - 1 - column : column) * STEP_X;
  }

  // The upper edge of a lane's first row.
  #top(lane) {
    let top = 0;
    for (let at = lane; at.parent; at = at.parent) top += this.#offset(at) + HEADER;
    return top;
  }

  #offset(lane) {
    return Math.min(lane.row + 1, this.#rows(lane.parent)) * STEP_Y + lane.before;
  }

  #walk(lane, top, visit) {
    if (lane.folded) return;
    const { view, header } = visit;
    const rows = this.#rows(lane);
    const first = upper(lane.lanes, (child) => top + this.#offset(child) + span(child) < view.top);
    let row = first ? Math.min(lane.lanes[first - 1].row + 1, rows) : 0;
    for (let i = first; i < lane.lanes.length; i++) {
      const child = lane.lanes[i];
      const next = Math.min(child.row + 1, rows);
      this.#tell(lane, row, next - 1, top + child.before, visit);
      row = next;
      if (top + (next - 1) * STEP_Y + child.before > view.bottom) return;
      const y = top + this.#offset(child);
      header(child, child.x, y);
      if (y <= view.bottom) this.#walk(child, y + HEADER, visit);
    }
    this.#tell(lane, row, rows - 1, top + lane.spans, visit);
  }

  #tell(lane, first, last, top, { view, cell, stride }) {
    const from = Math.max(first, Math.ceil((view.top - NODE.height - top) / STEP_Y));
    const to = Math.min(last, Math.floor((view.bottom - top) / STEP_Y));
    for (let row = from; row <= to; row += stride) {
      const end = Math.min(lane.count, (row + 1) * this.columns);
      for (let place = row * this.columns; place < end; place++) {
        const x = this.#x(lane, place);
        if (x <= view.right && x + NODE.width >= view.left) cell(lane, place, x, top + row * STEP_Y);
      }
    }
  }
}

function lane(name, parent, row, x) {
  return {
    name,
    parent,
    row,
    x,
    fork: Infinity,
    before: 0,
    count: 0,
    inner: 0,
    spans: 0,
    lanes: [],
    folded: false,
  };
}

function span(lane) {
  return HEADER + (lane.folded ? 0 : lane.inner) + AFTER;
}

export function laneHeight(lane) {
  return lane.folded ? HEADER : HEADER + lane.inner - NODE.gapY + 8;
}

function hidden(lane) {
  for (let at = lane; at; at = at.parent) if (at.folded) return true;
  return false;
}

// How many of the sorted things come before.
function upper(things, isBefore) {
  let low = 0,
    high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(things[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
