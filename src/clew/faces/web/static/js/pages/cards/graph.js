// The picture: a column for each stage of thinking, the oldest on top, lines for what rests on
// what.

import { call, tryCall } from "../../api.js";
import { el, shorten, svg } from "../../dom.js";
import { callText, several, teach } from "../../parts.js";
import { address, link, rewrite } from "../../router.js";
import { cardDetail } from "./detail.js";
import { graphScope, packScope } from "./scope.js";
import { signalsCard } from "./signals.js";

const COLUMNS = [
  [["frame", "question"], "Questions"],
  [["hypothesis"], "Hypotheses"],
  [["test", "evidence"], "Tests and evidence"],
  [["decision"], "Decisions"],
  [["update", "note"], "Updates and notes"],
];
const BOX = { width: 208, height: 78, gapX: 48, gapY: 16, top: 38, left: 10 };
const MOST = 200;

// The card that is open stays open when the picture is drawn anew, and when the page is loaded again:
// the address names it, unless a record that lies over the page has the address for now.
let opened = null;

export async function graphParts(scope) {
  if (address().place === "know") opened = address().query.get("card");
  const [found, pack] = await Promise.all([
    call("graph_query", {
      ...graphScope(scope),
      limit: MOST,
      edges_limit: 1000,
      types: COLUMNS.flatMap(([types]) => types),
      max_chars: 1_000_000,
    }),
    tryCall("think_pack", { ...packScope(scope), max_chars: 60_000 }),
  ]);
  if (!found.nodes.length) return [empty(scope)];
  const signals = pack?.engine?.signals ?? [];
  const detail = el("aside", {
    class: "card lens",
    id: "card",
    "aria-live": "polite",
    hidden: true,
  });
  const frame = el("div", {
    class: "map",
    tabindex: "0",
    role: "region",
    "aria-label": "Cards; scrolls sideways",
    data: { own: "", scroll: "cards" },
  });
  const layout = el("div", { class: "picture", data: { key: "picture" } }, frame, detail);
  const open = (id) => {
    opened = id;
    // While a record lies over the page, the address is the record's.
    if (address().place === "know") rewrite(link("know", "cards", scope, { card: id }));
    const node = found.nodes.find((item) => item.id === id);
    for (const group of frame.querySelectorAll("[data-card]"))
      group.classList.toggle("chosen", group.dataset.card === id);
    detail.hidden = !node;
    layout.classList.toggle("has-card", Boolean(node));
    if (node)
      frame.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (node)
      cardDetail(detail, node, found, open, () => {
        open(null);
        frame.focus();
      });
  };
  frame.append(picture(found, signals, open));
  if (found.nodes.some((node) => node.id === opened)) open(opened);
  return [layout, legend(found), signalsCard(pack?.engine, open)];
}

function picture({ nodes, edges }, signals, open) {
  const columns = COLUMNS.map(([types, words]) => ({
    words,
    cards: nodes
      .filter((node) => types.includes(node.type))
      .sort((a, b) => types.indexOf(a.type) - types.indexOf(b.type) || a.last_seq - b.last_seq),
  })).filter(({ cards }) => cards.length);
  const at = new Map();
  for (const [column, { cards }] of columns.entries())
    for (const [row, node] of cards.entries())
      at.set(node.id, {
        column,
        x: BOX.left + column * (BOX.width + BOX.gapX),
        y: BOX.top + row * (BOX.height + BOX.gapY),
      });
  const width = columns.length * (BOX.width + BOX.gapX) - BOX.gapX + 2 * BOX.left + 24;
  const height =
    Math.max(...columns.map(({ cards }) => cards.length)) * (BOX.height + BOX.gapY) +
    BOX.top +
    BOX.left;
  const marked = new Map();
  for (const signal of signals)
    for (const ref of signal.refs ?? []) marked.set(ref, join(marked.get(ref), signal));
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Cards" },
    arrows(),
    columns.map(({ words }, x) =>
      svg("text", { x: BOX.left + x * (BOX.width + BOX.gapX), y: 22, class: "column-name" }, words),
    ),
    edges
      .filter((edge) => at.has(edge.from) && at.has(edge.to))
      .map((edge) => line(edge, at.get(edge.from), at.get(edge.to))),
    nodes
      .filter((node) => at.has(node.id))
      .map((node) => box(node, at.get(node.id), marked.get(node.id), () => open(node.id))),
  );
}

// Several signals about one card are one flag; the engine names the gravest first.
function join(before, signal) {
  return before ? { ...before, message: `${before.message}\n${signal.message}` } : signal;
}

function arrows() {
  const head = (id) =>
    svg(
      "marker",
      {
        id,
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        orient: "auto-start-reverse",
        class: id,
      },
      svg("path", { d: "M0 0L8 4L0 8z" }),
    );
  return svg("defs", {}, head("arrow"), head("arrow-blocks"));
}

function line(edge, from, to) {
  const blocks = edge.rel === "blocks";
  return svg(
    "path",
    {
      class: `edge${blocks ? " rel-blocks" : ""}`,
      data: { rel: edge.rel, from: edge.from, to: edge.to },
      "marker-end": `url(#arrow${blocks ? "-blocks" : ""})`,
      d: way(from, to),
    },
    svg("title", {}, `${edge.from} ${edge.rel} ${edge.to}`),
  );
}

// Neighbouring columns join side to side, cards of one column on their right. Over a column it goes
// between the rows: behind a card it would look as if it began there.
function way(from, to) {
  const [high, low] = [from, to].map((spot) => spot.y + BOX.height / 2);
  const same = to.column === from.column,
    forward = to.column > from.column,
    sign = forward ? 1 : -1;
  const start = forward || same ? from.x + BOX.width : from.x,
    end = same || !forward ? to.x + BOX.width : to.x;
  if (same) return `M${start} ${high}C${start + 26} ${high} ${end + 26} ${low} ${end} ${low}`;
  const half = (start + end) / 2;
  if (Math.abs(to.column - from.column) === 1)
    return `M${start} ${high}C${half} ${high} ${half} ${low} ${end} ${low}`;
  const lane = from.y + BOX.height + BOX.gapY / 2,
    step = (sign * BOX.gapX) / 2;
  return `M${start} ${high}C${start + step} ${high} ${start + step} ${lane} ${start + 2 * step} ${lane}L${end - 2 * step} ${lane}C${end - step} ${lane} ${end - step} ${low} ${end} ${low}`;
}

function box(node, spot, signal, open) {
  const words = shorten(node.title || node.text || node.id, 120);
  const [first, second] = twoLines(words, 23);
  const shut = node.status && node.status !== "open";
  const keyed = (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open();
    }
  };
  return svg(
    "g",
    {
      class: `anchor card-${node.type}${shut ? " shut" : ""}`,
      tabindex: "0",
      role: "button",
      transform: `translate(${spot.x} ${spot.y})`,
      "aria-label": `${node.type} ${words}, ${node.status ?? ""}${signal ? `, signal: ${signal.message}` : ""}`,
      data: { card: node.id, status: node.status ?? "" },
      onclick: open,
      onkeydown: keyed,
    },
    svg("rect", { class: "ground", width: BOX.width, height: BOX.height, rx: 10 }),
    svg("rect", { class: "stripe", width: 6, height: BOX.height - 20, x: 0, y: 10, rx: 3 }),
    svg("text", { x: 16, y: 24, class: "name" }, first),
    svg("text", { x: 16, y: 42, class: "name" }, second),
    svg(
      "text",
      { x: 16, y: 65, class: "under" },
      shorten(`${node.type} · ${node.status ?? "-"} · ${node.id}`, 32),
    ),
    signal
      ? svg(
          "g",
          { class: `flag ${signal.severity}` },
          svg("circle", { cx: BOX.width - 4, cy: 4, r: 9 }),
          svg("text", { x: BOX.width - 4, y: 8, "text-anchor": "middle" }, "!"),
          svg("title", {}, signal.message),
        )
      : null,
  );
}

// Broken between words where there is one.
function twoLines(text, limit) {
  if (text.length <= limit) return [text, ""];
  const space = text.lastIndexOf(" ", limit);
  const end = space > 0 ? space : limit;
  return [text.slice(0, end), shorten(text.slice(end), limit)];
}

function legend(found) {
  return el(
    "p",
    { class: "quiet", data: { key: "legend" } },
    `${several(found.nodes.length, "card")}, ${several(found.edges.length, "link")}${found.pagination.has_more ? "; only the newest are shown" : ""}. A red dashed line blocks, the others lead on; a dashed box is no longer open; ! marks what the engine has something to say about.`,
  );
}

function empty(scope) {
  return teach(
    "No card here yet",
    "Agents keep what they suppose, test, find and decide as cards. The engine then says what is missing: a hypothesis without a test, a decision that nothing speaks against.",
    callText("think_card", {
      card: { type: "hypothesis", title: "The lock is held too long" },
      ...(scope === "main" ? {} : graphScope(scope)),
    }),
  );
}
