// Where each record of a neighbourhood stands, and its boxes and lines. The record itself is in the
// middle; a column for each step away, to the left what it points to, to the right what points to it.

import { svg } from "../../dom.js";
import { arrowHead, boxShape } from "../../graph/field.js";
import { fitted, NAME, twoLines, UNDER } from "../../graph/words.js";
import { icon, kindWord } from "../../kinds.js";

const BOX = { width: 216, height: 66, gapX: 116, gapY: 18 };
const EDGE = 24,
  HEAD = 34;

/**
 * @param {{id: string, nodes: any[], edges: any[]}} found
 * @param {boolean} upright whether there is no room beside the record: then the steps lie one below
 * the other
 */
export function arrange(found, upright = false) {
  const { sides, relations } = walked(found);
  /** @type {Map<number, string[]>} */
  const columns = new Map();
  for (const { id } of found.nodes) {
    const column = sides.get(id) ?? 1;
    columns.set(column, [...(columns.get(column) ?? []), id]);
  }
  order(columns, found.edges);
  const placed = upright ? belowEachOther(columns) : besideEachOther(columns);
  return { ...placed, columns, relations, upright };
}

const spotAt = (x, y) => ({ x, y, width: BOX.width, height: BOX.height });

function besideEachOther(columns) {
  const first = Math.min(...columns.keys());
  const tallest = Math.max(...[...columns.values()].map((ids) => ids.length));
  const spots = new Map(),
    heads = new Map();
  for (const [column, ids] of columns) {
    const x = EDGE + (column - first) * (BOX.width + BOX.gapX);
    const top = HEAD + EDGE + ((tallest - ids.length) * (BOX.height + BOX.gapY)) / 2;
    heads.set(column, { x, y: EDGE });
    ids.forEach((id, row) => {
      spots.set(id, spotAt(x, top + row * (BOX.height + BOX.gapY)));
    });
  }
  const height = HEAD + 2 * EDGE + tallest * (BOX.height + BOX.gapY) - BOX.gapY;
  const width =
    2 * EDGE + (Math.max(...columns.keys()) - first + 1) * (BOX.width + BOX.gapX) - BOX.gapX;
  return { width, height, spots, heads };
}

// Two boxes beside each other, as a telephone held upright has room for.
const ROW = 2,
  UPRIGHT = { gapX: 18, gapY: 32, between: 30 };

function belowEachOther(columns) {
  const width = 2 * EDGE + ROW * (BOX.width + UPRIGHT.gapX) - UPRIGHT.gapX;
  const spots = new Map(),
    heads = new Map();
  let y = EDGE;
  for (const column of [...columns.keys()].sort((a, b) => a - b)) {
    const ids = columns.get(column);
    if (column) {
      heads.set(column, { x: EDGE, y });
      y += HEAD;
    }
    for (let start = 0; start < ids.length; start += ROW) {
      const row = ids.slice(start, start + ROW);
      const left = (width - row.length * (BOX.width + UPRIGHT.gapX) + UPRIGHT.gapX) / 2;
      row.forEach((id, place) => {
        spots.set(id, spotAt(left + place * (BOX.width + UPRIGHT.gapX), y));
      });
      y += BOX.height + UPRIGHT.gapY;
    }
    y += UPRIGHT.between;
  }
  return { width, height: y - UPRIGHT.gapY - UPRIGHT.between + EDGE, spots, heads };
}

// On which side each record stands, how many steps away, and by which words it is linked inwards.
function walked({ id: start, edges }) {
  const sides = new Map([[start, 0]]);
  const relations = new Map();
  for (let ring = [start]; ring.length; ) {
    const next = [];
    for (const id of ring)
      for (const { from, rel, to } of edges) {
        const other = from === id ? to : to === id ? from : null;
        if (!other || sides.has(other)) continue;
        const before = sides.get(id);
        sides.set(other, before === 0 ? (from === id ? -1 : 1) : before + Math.sign(before));
        relations.set(other, { words: spoken(rel), isPointedAt: from === id });
        next.push(other);
      }
    ring = next;
  }
  return { sides, relations };
}

const spoken = (rel) => rel.replaceAll("_", " ");

// From the middle outwards, each record near those that it hangs on: then lines cross little.
function order(columns, edges) {
  const names = [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b));
  const rank = new Map();
  for (const column of names) {
    const inner = column - Math.sign(column);
    const before = new Map((columns.get(inner) ?? []).map((id, index) => [id, index]));
    const middle = (id) => {
      const near = edges
        .filter(({ from, to }) => from === id || to === id)
        .map(({ from, to }) => before.get(from === id ? to : from))
        .filter((index) => index !== undefined);
      return near.length ? near.reduce((sum, index) => sum + index, 0) / near.length : 1e6;
    };
    const ids = columns.get(column);
    for (const id of ids) rank.set(id, column ? middle(id) : 0);
    ids.sort((a, b) => rank.get(a) - rank.get(b));
  }
}

export function shapes(field, found, layout) {
  const { spots, heads, upright } = layout;
  const heading = ([column, { x, y }]) =>
    svg(
      "text",
      { class: "column-name", x, y, data: { key: `heading ${column}` } },
      WORDS[column] ?? `${Math.abs(column)} steps ${column < 0 ? "on" : "back"}`,
    );
  return [
    svg("defs", { data: { key: "defs" } }, arrowHead("arrow"), arrowHead("arrow-blocks")),
    [...heads].filter(([column]) => column).map(heading),
    found.edges
      .filter(({ from, to }) => spots.has(from) && spots.has(to))
      .map((edge) => line(edge, spots, upright ? wayDown : way)),
    [...layout.relations]
      .filter(([id]) => spots.has(id))
      .map(([id, { words }]) => label(id, words, layout)),
    found.nodes.map((node) => box(field, node, spots.get(node.id), node.id === found.id)),
  ];
}

const WORDS = { "-1": "It points to", 1: "Points to it" };

function line({ from, rel, to }, spots, way) {
  const blocks = ["blocks", "contradicts"].includes(rel);
  return svg(
    "path",
    {
      class: `edge${blocks ? " rel-blocks" : ""}`,
      "marker-end": `url(#arrow${blocks ? "-blocks" : ""})`,
      d: way(spots.get(from), spots.get(to)),
      data: { key: `${from} ${rel} ${to}`, from, to, rel },
    },
    svg("title", {}, `${from} ${spoken(rel)} ${to}`),
  );
}

function way(from, to) {
  const start = from.y + from.height / 2,
    end = to.y + to.height / 2;
  if (from.x === to.x) {
    const side = from.x + from.width;
    return `M${side} ${start}C${side + 46} ${start} ${side + 46} ${end} ${side} ${end}`;
  }
  const forward = from.x < to.x;
  const x1 = forward ? from.x + from.width : from.x,
    x2 = forward ? to.x : to.x + to.width;
  const half = (x1 + x2) / 2;
  return `M${x1} ${start}C${half} ${start} ${half} ${end} ${x2} ${end}`;
}

// The same with up and down in place of left and right.
function wayDown(from, to) {
  const turned = ({ x, y, width, height }) => ({ x: y, y: x, width: height, height: width });
  return way(turned(from), turned(to)).replace(/(-?[\d.]+) (-?[\d.]+)/g, "$2 $1");
}

// Beside the box, towards the middle, above its line.
function label(id, words, { spots, columns, upright }) {
  const spot = spots.get(id);
  const isLeft = [...columns].some(([column, ids]) => column < 0 && ids.includes(id));
  if (upright) return labelBelow(id, words, spot, isLeft);
  return svg(
    "text",
    {
      class: "relation",
      x: isLeft ? spot.x + spot.width + 10 : spot.x - 10,
      y: spot.y + spot.height / 2 - 6,
      "text-anchor": isLeft ? "start" : "end",
      data: { key: `relation ${id}`, from: id, to: id },
    },
    fitted(words, BOX.gapX - 36, UNDER),
  );
}

function labelBelow(id, words, spot, isAbove) {
  return svg(
    "text",
    {
      class: "relation",
      x: spot.x + spot.width / 2 + 8,
      y: isAbove ? spot.y + spot.height + 16 : spot.y - 8,
      data: { key: `relation ${id}`, from: id, to: id },
    },
    fitted(words, BOX.width / 2 - 10, UNDER),
  );
}

function box(field, node, spot, isCenter) {
  const room = BOX.width - 44;
  const [one, two] = twoLines(node.title || node.id, room, NAME);
  const shape = icon(node.kind);
  shape.setAttribute("x", "12");
  shape.setAttribute("y", "12");
  const status = node.status ? ` · ${String(node.status).toLowerCase()}` : "";
  return boxShape(
    field,
    node.id,
    spot,
    `${kindWord(node.kind)}: ${node.title || node.id}${status}${node.hidden ? `, ${node.hidden} more neighbours` : ""}`,
    `anchor near-by card-${node.kind}${isCenter ? " center" : ""}`,
    { hidden: String(node.hidden) },
    shape,
    svg("text", { class: "name", x: 36, y: 24 }, one),
    svg("text", { class: "name", x: 36, y: 41 }, two),
    svg(
      "text",
      { class: "under", x: 36, y: 58 },
      fitted(`${kindWord(node.kind)}${status}`, node.hidden ? room - 34 : room, UNDER),
    ),
    node.hidden
      ? svg(
          "text",
          { class: "more", x: BOX.width - 10, y: 58, "text-anchor": "end" },
          `+${node.hidden}`,
        )
      : null,
  );
}
