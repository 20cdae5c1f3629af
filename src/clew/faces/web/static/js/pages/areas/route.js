// The ways of arrows between boxes: along the free lanes between them, never through a box and never
// over the name of an area, with as few corners as possible. Ways that run together stand apart.

const CORNER = 40,
  CROWD = 30,
  DOOR = 220,
  APART = 5,
  CLEAR = 6;

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Rect
 */
export class Lanes {
  /**
   * @param {Rect[]} walls what no arrow may cross
   * @param {{xs: number[], ys: number[]}} lines where arrows may run
   */
  constructor(walls, { xs, ys }) {
    this.walls = walls;
    this.xs = sorted(xs);
    this.ys = sorted(ys);
    this.free = new Map();
    this.used = new Map();
    this.doors = new Map();
  }

  // The corners of the way from one box to another; null when there is none.
  way(from, to) {
    const goals = new Map(this.#doors(to).map((door) => [this.#key(door.i, door.j), door]));
    const found = this.#search(this.#doors(from), goals);
    if (!found) return null;
    const { start, end, path } = found;
    for (const { at } of [start, end]) this.doors.set(`${at}`, this.#crowd(at) + 1);
    const points = path.map(([i, j]) => [this.xs[i], this.ys[j]]);
    for (let at = 1; at < path.length; at++) this.#use(path[at - 1], path[at]);
    return straight([start.at, ...points, end.at]);
  }

  // How many arrows begin or end at a door; a busy one is avoided.
  #crowd(at) {
    return this.doors.get(`${at}`) ?? 0;
  }

  // Where one may leave a box: the lane nearest to the middle of each side.
  #doors({ x, y, width, height }) {
    const middleX = x + width / 2,
      middleY = y + height / 2;
    const i = nearestIndex(this.xs, middleX),
      j = nearestIndex(this.ys, middleY);
    const left = lastBelow(this.xs, x),
      right = firstAbove(this.xs, x + width),
      top = lastBelow(this.ys, y),
      bottom = firstAbove(this.ys, y + height);
    const inX = Math.min(Math.max(this.xs[i], x + 12), x + width - 12),
      inY = Math.min(Math.max(this.ys[j], y + 12), y + height - 12);
    return [
      left >= 0 && inY === this.ys[j] && { i: left, j, at: [x, inY], flat: true },
      right >= 0 && inY === this.ys[j] && { i: right, j, at: [x + width, inY], flat: true },
      top >= 0 && inX === this.xs[i] && { i, j: top, at: [inX, y], flat: false },
      bottom >= 0 && inX === this.xs[i] && { i, j: bottom, at: [inX, y + height], flat: false },
    ].filter(Boolean);
  }

  #key(i, j) {
    return i * 4096 + j;
  }

  // The cheapest way over the crossings of the lanes: its length, its corners, and who runs there.
  #search(starts, goals) {
    const best = new Map();
    const heap = new Heap();
    for (const door of starts)
      heap.push(DOOR * this.#crowd(door.at), {
        i: door.i,
        j: door.j,
        flat: door.flat,
        before: null,
        start: door,
      });
    while (heap.size) {
      const [cost, state] = heap.pop();
      if (state.end) return { start: state.start, end: state.end, path: pathOf(state.before) };
      const key = this.#key(state.i, state.j) * 2 + (state.flat ? 1 : 0);
      if ((best.get(key) ?? Infinity) <= cost) continue;
      best.set(key, cost);
      const end = goals.get(this.#key(state.i, state.j));
      if (end && end.flat === state.flat)
        heap.push(cost + DOOR * this.#crowd(end.at), { end, before: state, start: state.start });
      for (const next of this.#steps(state)) heap.push(cost + next.cost, next.state);
    }
    return null;
  }

  #steps(state) {
    const found = [];
    for (const [di, dj] of WAYS) {
      const i = state.i + di,
        j = state.j + dj;
      if (i < 0 || j < 0 || i >= this.xs.length || j >= this.ys.length) continue;
      if (!this.#isFree(state.i, state.j, i, j)) continue;
      const flat = dj === 0;
      const length =
        Math.abs(this.xs[i] - this.xs[state.i]) + Math.abs(this.ys[j] - this.ys[state.j]);
      const crowd = CROWD * (this.used.get(this.#segment(state.i, state.j, i, j)) ?? 0);
      const cost = length + crowd + (flat === state.flat ? 0 : CORNER);
      found.push({ cost, state: { i, j, flat, before: state, start: state.start } });
    }
    return found;
  }

  #segment(i, j, k, l) {
    return i + j <= k + l ? `${i},${j},${k},${l}` : `${k},${l},${i},${j}`;
  }

  #isFree(i, j, k, l) {
    const name = this.#segment(i, j, k, l);
    let free = this.free.get(name);
    if (free === undefined) {
      const [left, right] = ordered(this.xs[i], this.xs[k]),
        [top, bottom] = ordered(this.ys[j], this.ys[l]);
      free = !this.walls.some(
        (wall) =>
          right > wall.x - CLEAR &&
          left < wall.x + wall.width + CLEAR &&
          bottom > wall.y - CLEAR &&
          top < wall.y + wall.height + CLEAR,
      );
      this.free.set(name, free);
    }
    return free;
  }

  #use([i, j], [k, l]) {
    const name = this.#segment(i, j, k, l);
    this.used.set(name, (this.used.get(name) ?? 0) + 1);
  }
}

const WAYS = [
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
];
const sorted = (values) => [...new Set(values.map(Math.round))].sort((a, b) => a - b);
const ordered = (a, b) => (a < b ? [a, b] : [b, a]);

function pathOf(state) {
  const path = [];
  for (let at = state; at; at = at.before) path.unshift([at.i, at.j]);
  return path;
}

const nearestIndex = (values, wanted) =>
  values.reduce(
    (best, value, index) =>
      Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? index : best,
    0,
  );
const lastBelow = (values, limit) => values.findLastIndex((value) => value <= limit - CLEAR);
const firstAbove = (values, limit) => values.findIndex((value) => value >= limit + CLEAR);

// Only the corners.
function straight(points) {
  return points.filter((point, index) => {
    const [before, after] = [points[index - 1], points[index + 1]];
    if (!before || !after) return true;
    const onX = before[0] === point[0] && point[0] === after[0],
      onY = before[1] === point[1] && point[1] === after[1];
    return !onX && !onY;
  });
}

// A line with round corners; `shift` moves it beside others that take the same way.
export function rounded(points, shift = 0) {
  const off = points.map(([x, y], index) =>
    index && index < points.length - 1 ? [x + shift * APART, y + shift * APART] : [x, y],
  );
  // The ends keep their side of the box: only what runs along the lane is moved.
  if (off.length > 2) {
    align(off, points, 0, 1);
    align(off, points, off.length - 1, off.length - 2);
  }
  const parts = [`M${off[0].join(" ")}`];
  for (let at = 1; at < off.length - 1; at++) parts.push(corner(off[at - 1], off[at], off[at + 1]));
  return `${parts.join("")}L${off.at(-1).join(" ")}`;
}

function align(off, points, end, next) {
  if (points[end][0] === points[next][0]) off[end] = [off[next][0], off[end][1]];
  else off[end] = [off[end][0], off[next][1]];
}

function corner(before, at, after) {
  const toward = (other) => {
    const far = Math.abs(other[0] - at[0]) + Math.abs(other[1] - at[1]);
    const size = Math.min(8, far / 2);
    return [at[0] + Math.sign(other[0] - at[0]) * size, at[1] + Math.sign(other[1] - at[1]) * size];
  };
  return `L${toward(before).join(" ")}Q${at.join(" ")} ${toward(after).join(" ")}`;
}

// A queue of what is cheapest.
class Heap {
  constructor() {
    this.items = [];
  }

  get size() {
    return this.items.length;
  }

  push(cost, value) {
    const { items } = this;
    let at = items.length;
    items.push([cost, value]);
    while (at) {
      const up = (at - 1) >> 1;
      if (items[up][0] <= items[at][0]) break;
      [items[up], items[at]] = [items[at], items[up]];
      at = up;
    }
  }

  pop() {
    const { items } = this;
    const top = items[0],
      last = items.pop();
    if (!items.length) return top;
    items[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1,
        right = left + 1;
      let least = at;
      if (left < items.length && items[left][0] < items[least][0]) least = left;
      if (right < items.length && items[right][0] < items[least][0]) least = right;
      if (least === at) return top;
      [items[at], items[least]] = [items[least], items[at]];
      at = least;
    }
  }
}
