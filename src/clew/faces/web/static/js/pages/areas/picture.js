// The map of areas: an area that contains others is drawn around them; a dashed arrow leads to what an
// area rests on; the colour says how much is known there, or how fresh it is.

import { svg } from "../../dom.js";
import { arrowHead, boxShape } from "../../graph/field.js";
import { fitted, NAME, textWidth, UNDER } from "../../graph/words.js";
import { heatWords, levelOf } from "./heat.js";
import { Lanes, rounded } from "./route.js";

const LEAF = { width: 196, height: 78 };
const PAD = 22,
  FOOT = 26,
  HEAD = 84,
  GAP = 44,
  WIDEST = 3,
  EDGE = 30,
  INSET = 16;

// The boxes with their places, and the picture's size.
export function arrange(areas) {
  const tree = new Tree(areas);
  const size = tree.arrange();
  return { ...size, tree, spots: tree.at };
}

export function shapes(field, { tree }, by) {
  const drawn = tree.drawn.map(({ anchor, spot }) => ({
    anchor,
    spot,
    holds: tree.children.has(anchor.id),
  }));
  const made = ({ anchor, spot, holds }) => box(field, anchor, spot, holds, by);
  return [
    svg("defs", { data: { key: "defs" } }, arrowHead("rests")),
    drawn.filter(({ holds }) => holds).map(made),
    arrows(tree, drawn),
    drawn.filter(({ holds }) => !holds).map(made),
  ];
}

// Who contains whom, and where that puts everybody. A circle of parents is cut where it is met
// first.
class Tree {
  constructor(anchors) {
    this.known = new Map(anchors.map((anchor) => [anchor.id, anchor]));
    this.children = new Map();
    this.roots = [];
    for (const anchor of anchors) {
      const parent = this.#parent(anchor);
      if (!parent) this.roots.push(anchor.id);
      else this.children.set(parent, [...(this.children.get(parent) ?? []), anchor.id]);
    }
    this.at = new Map();
    this.drawn = [];
  }

  #parent(anchor) {
    if (!this.known.has(anchor.parent_id)) return null;
    const seen = new Set([anchor.id]);
    for (let id = anchor.parent_id; this.known.has(id); id = this.known.get(id).parent_id) {
      if (seen.has(id)) return anchor.id === [...seen].sort()[0] ? null : anchor.parent_id;
      seen.add(id);
    }
    return anchor.parent_id;
  }

  arrange() {
    // Areas with something inside come first, each in a row of its own; the others stand together.
    const groups = this.roots.filter((id) => this.children.has(id)),
      alone = this.roots.filter((id) => !this.children.has(id));
    let y = EDGE,
      width = 0;
    // Many areas that stand alone fill a field about as wide as it is high.
    const wide = Math.max(WIDEST + 1, Math.ceil(Math.sqrt(alone.length * 0.7)));
    for (const row of [...packed(groups, (id) => this.#size(id).width), ...rows(alone, wide)]) {
      let x = EDGE,
        tallest = 0;
      for (const id of row) {
        const size = this.#size(id);
        this.#place(id, x, y, size);
        x += size.width + GAP;
        tallest = Math.max(tallest, size.height);
      }
      width = Math.max(width, x - GAP + EDGE);
      y += tallest + GAP;
    }
    return { width, height: y - GAP + EDGE };
  }

  #size(id) {
    const inside = this.children.get(id);
    if (!inside) return LEAF;
    const sizes = rows(inside, WIDEST).map((row) => row.map((child) => this.#size(child)));
    const width = Math.max(
      ...sizes.map((row) => row.reduce((sum, size) => sum + size.width, GAP * (row.length - 1))),
    );
    const height = sizes.reduce(
      (sum, row) => sum + Math.max(...row.map((size) => size.height)),
      GAP * (sizes.length - 1),
    );
    return { width: Math.max(LEAF.width, width) + 2 * PAD, height: height + HEAD + FOOT };
  }

  #place(id, x, y, size) {
    const spot = { x, y, ...size };
    this.at.set(id, spot);
    this.drawn.push({ anchor: this.known.get(id), spot });
    let top = y + HEAD;
    for (const row of rows(this.children.get(id) ?? [], WIDEST)) {
      let left = x + PAD,
        tallest = 0;
      for (const child of row) {
        const inner = this.#size(child);
        this.#place(child, left, top, inner);
        left += inner.width + GAP;
        tallest = Math.max(tallest, inner.height);
      }
      top += tallest + GAP;
    }
  }

  #holds(outer, id) {
    for (let next = id; next; next = this.known.get(next)?.parent_id)
      if (next === outer) return true;
    return false;
  }

  links() {
    return [...this.known.values()].flatMap((anchor) =>
      anchor.depends_on
        .filter(
          (other) =>
            this.at.has(other) &&
            this.at.has(anchor.id) &&
            !this.#holds(anchor.id, other) &&
            !this.#holds(other, anchor.id),
        )
        .map((other) => [
          this.at.get(anchor.id),
          this.at.get(other),
          `${anchor.id} rests on ${other}`,
          { from: anchor.id, to: other },
        ]),
    );
  }
}

const ROOM = 1_500;

// Large areas beside each other as long as a window holds them.
function packed(ids, widthOf) {
  const found = [];
  let room = 0;
  for (const id of ids) {
    const width = widthOf(id) + GAP;
    if (!found.length || room < width) {
      found.push([]);
      room = ROOM;
    }
    found.at(-1).push(id);
    room -= width;
  }
  return found;
}

function rows(ids, most) {
  const found = [];
  for (let start = 0; start < ids.length; start += most) found.push(ids.slice(start, start + most));
  return found;
}

// Arrows run in the lanes between the boxes. Boxes and the names of areas are walls.
function arrows(tree, drawn) {
  const walls = drawn.map(({ anchor, spot, holds }) => (holds ? nameplate(anchor, spot) : spot));
  const lanes = new Lanes(walls, lines(drawn));
  const taken = new Map();
  return tree.links().map(([from, to, names, ends]) => {
    const way = lanes.way(from, to) ?? [middle(from), middle(to)];
    const shape = way.slice(1, -1).join(" ");
    const shift = taken.get(shape) ?? 0;
    taken.set(shape, shift + 1);
    return svg(
      "path",
      {
        class: "edge depends",
        "marker-end": "url(#rests)",
        d: rounded(way, shift),
        data: { key: names, ...ends },
      },
      svg("title", {}, names),
    );
  });
}

const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

const nameplate = (anchor, { x, y, width }) => ({
  x: x + INSET - 4,
  y: y + 8,
  width: Math.min(width - 2 * INSET, nameRoom(anchor)) + 8,
  height: HEAD - 20,
});

const nameRoom = (anchor) =>
  Math.max(
    textWidth(anchor.title, NAME),
    textWidth(`${anchor.kind} · ${anchor.id}`, UNDER),
    textWidth(heatWords(anchor), UNDER),
  );

// Through the middle of every box, for its doors, and in the gaps around it, two lanes in each.
function lines(drawn) {
  const xs = [],
    ys = [];
  for (const { spot } of drawn) {
    for (const away of [GAP / 3, (2 * GAP) / 3]) {
      xs.push(spot.x - away, spot.x + spot.width + away);
      ys.push(spot.y - away, spot.y + spot.height + away);
    }
    xs.push(spot.x + spot.width / 2);
    ys.push(spot.y + spot.height / 2);
  }
  return { xs, ys };
}

function box(field, anchor, spot, holds, by) {
  const room = spot.width - 2 * INSET;
  const level = levelOf(anchor, by);
  return boxShape(
    field,
    anchor.id,
    spot,
    `${anchor.title}, ${anchor.kind}, ${heatWords(anchor)}`,
    `anchor area ${anchor.kind} ${anchor.status} heat-${level}${holds ? " holds" : ""}`,
    { anchor: anchor.id, within: anchor.parent_id ?? "", level: String(level) },
    svg("text", { x: INSET, y: 25, class: "name" }, fitted(anchor.title, room, NAME)),
    svg(
      "text",
      { x: INSET, y: 44, class: "under" },
      fitted(`${anchor.kind} · ${anchor.id}`, room, UNDER),
    ),
    svg(
      "text",
      { x: INSET, y: 63, class: "under figures" },
      fitted(heatWords(anchor), room, UNDER),
    ),
  );
}
