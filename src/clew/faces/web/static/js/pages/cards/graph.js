// The cards of a branch or task: a column for each stage of thinking, the oldest on top, lines for
// what rests on what; or the same as a table. What is shown is narrowed by words, and the address
// holds it.

import { call, tryCall } from "../../api.js";
import { el, shorten, svg } from "../../dom.js";
import { arrowHead, boxShape, Field, highlight } from "../../graph/field.js";
import { linkTable } from "../../graph/table.js";
import { fitted, NAME, twoLines, UNDER } from "../../graph/words.js";
import { withKey } from "../../keys.js";
import { callText, nothing, several, teach } from "../../parts.js";
import { redraw } from "../../redraw.js";
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
const TYPES = COLUMNS.flatMap(([types]) => types);
const BOX = { width: 208, height: 78, gapX: 56, gapY: 18, top: 40, left: 20 };
const MOST = 200,
  TYPED = 200;

// The picture of one branch or task, with what is open beside it.
export class CardGraph {
  constructor(scope) {
    this.scope = scope;
    this.read(address().query);
    this.field = new Field({
      id: "cards-field",
      label: "Cards",
      name: `cards ${scope}`,
      onPick: (id) => this.open(id),
    });
    this.stage = el("div", { class: "full-stage", data: { scroll: "cards" } });
    this.side = el("aside", {
      class: "full-side",
      "aria-label": "The chosen card, and what the engine says",
      data: { scroll: "card" },
    });
    this.detail = el("section", {
      class: "stack tight",
      id: "card",
      "aria-live": "polite",
      hidden: true,
    });
    this.more = el("div", { class: "stack" });
    this.side.append(this.detail, this.more);
  }

  // The address names the open card, the words and the form, unless a record that lies over the page
  // has the address for now.
  read(query) {
    if (address().place !== "know") return;
    this.opened = query.get("card");
    this.words = query.get("words") ?? "";
    this.asTable = query.get("as") === "table";
  }

  href(change = {}) {
    const asked = { card: this.opened ?? "", words: this.words, as: this.asTable ? "table" : "" };
    return link("know", "cards", this.scope, { ...asked, ...change });
  }

  async look() {
    const [found, pack] = await Promise.all([
      call("graph_query", {
        ...graphScope(this.scope),
        limit: MOST,
        edges_limit: 1000,
        types: TYPES,
        text: this.words || undefined,
        max_chars: 1_000_000,
      }),
      tryCall("think_pack", { ...packScope(this.scope), max_chars: 60_000 }),
    ]);
    this.found = found;
    this.engine = pack?.engine;
    return found;
  }

  draw() {
    const { nodes, edges } = this.found;
    if (this.asTable) {
      redraw(this.stage, this.table());
    } else if (!nodes.length) {
      redraw(this.stage, el("div", { class: "page", data: { key: "none" } }, this.none()));
    } else {
      if (this.field.frame.parentElement !== this.stage)
        this.stage.replaceChildren(this.field.frame);
      const layout = arrange(nodes);
      this.field.draw(
        layout,
        layout.spots,
        shapes(this.field, layout, this.found, this.signals()),
        this.opened ?? "",
      );
      highlight(this.field.plane, this.opened, edges);
    }
    redraw(
      this.more,
      this.legend(),
      signalsCard(this.engine, (id) => this.open(id)),
    );
    this.showOpened();
  }

  none() {
    return this.words ? nothing("No card holds these words.", "no-cards") : empty(this.scope);
  }

  signals() {
    const marked = new Map();
    for (const signal of this.engine?.signals ?? [])
      for (const ref of signal.refs ?? []) marked.set(ref, join(marked.get(ref), signal));
    return marked;
  }

  table() {
    const nodes = this.found.nodes.map((node) => ({ ...node, kind: node.type }));
    return nodes.length
      ? linkTable(`Cards of ${this.scope}`, nodes, this.found.edges, (id) =>
          this.href({ card: id }),
        )
      : el("div", { class: "page", data: { key: "none" } }, this.none());
  }

  open(id) {
    this.opened = id;
    // While a record lies over the page, the address is the record's.
    if (address().place === "know") rewrite(this.href());
    this.showOpened();
    this.field.chosen = id;
    if (id) {
      this.field.stand(id);
      this.field.reveal(id);
    }
    highlight(this.field.plane, id, this.found.edges);
  }

  showOpened() {
    const node = this.found.nodes.find((item) => item.id === this.opened);
    this.detail.hidden = !node;
    if (!node) return;
    const close = () => {
      this.open(null);
      this.field.frame.focus();
    };
    cardDetail(this.detail, node, this.found, (id) => this.open(id), close);
  }

  // A field for words, and the way between picture and table.
  tools(again) {
    const type = (event) => {
      clearTimeout(this.timer);
      const { value } = event.target;
      this.timer = setTimeout(() => {
        this.words = value.trim();
        if (address().place === "know") rewrite(this.href());
        again();
      }, TYPED);
    };
    const field = el("input", {
      type: "search",
      id: "card-words",
      value: this.words,
      data: { search: "" },
      placeholder: withKey("Find cards", "/"),
      "aria-label": "Find cards",
      oninput: type,
    });
    const form = (as, words, isNow) =>
      el(
        "a",
        {
          href: this.href({ as }),
          "aria-current": isNow ? "true" : null,
          data: { as: as || "graph" },
        },
        words,
      );
    return [
      field,
      el(
        "nav",
        { class: "tabs", "aria-label": "Form", data: { key: "form" } },
        form("", "Picture", !this.asTable),
        form("table", "Table", this.asTable),
      ),
    ];
  }

  legend() {
    const { nodes, edges, pagination } = this.found;
    return el(
      "p",
      { class: "quiet", id: "cards-count", data: { key: "legend" } },
      `${several(nodes.length, "card")}, ${several(edges.length, "link")}${pagination.has_more ? "; only the newest are shown, words find the others" : ""}. A red dashed line blocks, the others lead on; a dashed box is no longer open; ! marks what the engine has something to say about.`,
    );
  }

  close() {
    clearTimeout(this.timer);
    this.field.close();
  }
}

function arrange(nodes) {
  const columns = COLUMNS.map(([types, words]) => ({
    words,
    cards: nodes
      .filter((node) => types.includes(node.type))
      .sort((a, b) => types.indexOf(a.type) - types.indexOf(b.type) || a.last_seq - b.last_seq),
  })).filter(({ cards }) => cards.length);
  const spots = new Map();
  for (const [column, { cards }] of columns.entries())
    for (const [row, node] of cards.entries())
      spots.set(node.id, {
        column,
        x: BOX.left + column * (BOX.width + BOX.gapX),
        y: BOX.top + row * (BOX.height + BOX.gapY),
        width: BOX.width,
        height: BOX.height,
      });
  const tallest = Math.max(...columns.map(({ cards }) => cards.length));
  return {
    columns,
    spots,
    width: columns.length * (BOX.width + BOX.gapX) - BOX.gapX + 2 * BOX.left + 24,
    height: tallest * (BOX.height + BOX.gapY) + BOX.top + BOX.left,
  };
}

function shapes(field, { columns, spots }, { nodes, edges }, marked) {
  return [
    svg("defs", { data: { key: "defs" } }, arrowHead("arrow"), arrowHead("arrow-blocks")),
    columns.map(({ words }, x) =>
      svg(
        "text",
        {
          x: BOX.left + x * (BOX.width + BOX.gapX),
          y: 24,
          class: "column-name",
          data: { key: words },
        },
        words,
      ),
    ),
    edges
      .filter((edge) => spots.has(edge.from) && spots.has(edge.to))
      .map((edge) => line(edge, spots.get(edge.from), spots.get(edge.to))),
    nodes
      .filter((node) => spots.has(node.id))
      .map((node) => box(field, node, spots.get(node.id), marked.get(node.id))),
  ];
}

// Several signals about one card are one flag; the engine names the gravest first.
function join(before, signal) {
  return before ? { ...before, message: `${before.message}\n${signal.message}` } : signal;
}

function line(edge, from, to) {
  const blocks = edge.rel === "blocks";
  return svg(
    "path",
    {
      class: `edge${blocks ? " rel-blocks" : ""}`,
      data: {
        key: `${edge.from} ${edge.rel} ${edge.to}`,
        rel: edge.rel,
        from: edge.from,
        to: edge.to,
      },
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

function box(field, node, spot, signal) {
  const words = shorten(node.title || node.text || node.id, 120);
  const [first, second] = twoLines(words, BOX.width - 30, NAME);
  const shut = node.status && node.status !== "open";
  return boxShape(
    field,
    node.id,
    spot,
    `${node.type} ${words}, ${node.status ?? ""}${signal ? `, signal: ${signal.message}` : ""}`,
    `anchor card-${node.type}${shut ? " shut" : ""}`,
    { card: node.id, status: node.status ?? "" },
    svg("rect", { class: "stripe", width: 6, height: BOX.height - 20, x: 0, y: 10, rx: 3 }),
    svg("text", { x: 16, y: 24, class: "name" }, first),
    svg("text", { x: 16, y: 42, class: "name" }, second),
    svg(
      "text",
      { x: 16, y: 65, class: "under" },
      fitted(`${node.type} · ${node.status ?? "-"} · ${node.id}`, BOX.width - 30, UNDER),
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
