// The map: an area that contains others is drawn around them; a dashed arrow leads to what an area
// rests on.

import { shorten, svg } from "../../dom.js";
import { go } from "../../router.js";

const LEAF = { width: 178, height: 60 };
const PAD = 16,
  FOOT = 34,
  HEAD = 58,
  GAP = 40,
  WIDEST = 3,
  EDGE = 16;

export function picture(anchors, wanted) {
  const tree = new Tree(anchors);
  const { width, height } = tree.arrange();
  const boxes = tree.drawn.map(({ anchor, spot }) =>
    box(anchor, spot, anchor.id === wanted, tree.children.has(anchor.id)),
  );
  const inner = boxes.filter((_, index) => !tree.children.has(tree.drawn[index].anchor.id)),
    outer = boxes.filter((part) => !inner.includes(part));
  const arrow = svg(
    "defs",
    {},
    svg(
      "marker",
      {
        id: "rests",
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        orient: "auto",
        class: "rests",
      },
      svg("path", { d: "M0 0L8 4L0 8z" }),
    ),
  );
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Map of anchors",
    },
    arrow,
    outer,
    tree.links().map(([from, to, names]) => rests(from, to, names)),
    inner,
  );
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
    for (const row of [...groups.map((id) => [id]), ...rows(alone, WIDEST + 1)]) {
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
        ]),
    );
  }
}

function rows(ids, most) {
  const found = [];
  for (let start = 0; start < ids.length; start += most) found.push(ids.slice(start, start + most));
  return found;
}

// Over a neighbour's head nobody could tell whom the arrow means: it goes below.
function rests(from, to, names) {
  if (from.y === to.y && Math.abs(from.x - to.x) > LEAF.width + GAP + 1) {
    const low = from.y + Math.max(from.height, to.height),
      dip = low + FOOT,
      side = from.x < to.x ? 20 : -20;
    const start = from.x + from.width / 2 + side,
      end = to.x + to.width / 2 - side;
    return svg(
      "path",
      {
        class: "edge depends",
        "marker-end": "url(#rests)",
        d: `M${start} ${low}C${start + side} ${dip} ${end - side} ${dip} ${end} ${low}`,
      },
      svg("title", {}, names),
    );
  }
  const start = border(from, to),
    end = border(to, from);
  return svg(
    "path",
    {
      class: "edge depends",
      "marker-end": "url(#rests)",
      d: `M${start.x} ${start.y}L${end.x} ${end.y}`,
    },
    svg("title", {}, names),
  );
}

// Where the line between two middles leaves a box.
function border(box, other) {
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 },
    goal = { x: other.x + other.width / 2, y: other.y + other.height / 2 };
  const dx = goal.x - middle.x,
    dy = goal.y - middle.y;
  const share = Math.min(
    dx ? box.width / 2 / Math.abs(dx) : Infinity,
    dy ? box.height / 2 / Math.abs(dy) : Infinity,
  );
  return { x: Math.round(middle.x + dx * share), y: Math.round(middle.y + dy * share) };
}

function box(anchor, spot, chosen, holds) {
  const open = () => go("know", "areas", anchor.id);
  const keyed = (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open();
    }
  };
  const room = Math.floor(spot.width / 8.4);
  return svg(
    "g",
    {
      class: `anchor area ${anchor.kind} ${anchor.status}${chosen ? " chosen" : ""}${holds ? " holds" : ""}`,
      tabindex: "0",
      role: "button",
      transform: `translate(${spot.x} ${spot.y})`,
      "aria-label": `${anchor.id}, ${anchor.title}, ${anchor.kind}`,
      data: { anchor: anchor.id, within: anchor.parent_id ?? "" },
      onclick: open,
      onkeydown: keyed,
    },
    svg("rect", { class: "ground", width: spot.width, height: spot.height, rx: 12 }),
    svg("text", { x: 16, y: 25, class: "name" }, shorten(anchor.title, room)),
    svg(
      "text",
      { x: 16, y: 45, class: "under" },
      shorten(`${anchor.kind} · ${anchor.id}`, room + 3),
    ),
  );
}
