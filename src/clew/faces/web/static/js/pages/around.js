// The neighbourhood of one record: what it points to at the left, what points to it at the right,
// step by step, and the same as an outline beside the picture. `#/WORKSPACE/know/around/ID`.

import { call } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { Field, highlight } from "../graph/field.js";
import { icon, kindWord } from "../kinds.js";
import { keepDrawn } from "../news.js";
import { nothing, several, statusBadge, teach, title } from "../parts.js";
import { redraw } from "../redraw.js";
import { address, link, objectLink, rewrite } from "../router.js";
import { arrange, shapes } from "./around/picture.js";

const PAUSE = 1_000,
  DEPTHS = [1, 2, 3],
  NARROW = 600;

export async function show(main, [id], query) {
  if (!id) return void replace(main, unnamed());
  const view = new Around(main, id, query);
  const end = await keepDrawn(
    () => view.look(),
    (event) => view.concerns(event),
    PAUSE,
  );
  return {
    end: () => {
      view.field.close();
      end();
    },
    move: ([other], changed) => view.go(other, changed),
  };
}

function unnamed() {
  return el(
    "div",
    { class: "page" },
    teach(
      "Around which record?",
      "Open any record and press “Around it”, or put its id at the end of the address.",
    ),
  );
}

const readAsked = (query) => ({
  depth: Number(query.get("depth")) || 2,
  open: (query.get("open") ?? "").split(",").filter(Boolean),
  at: query.get("at") ?? "",
});

class Around {
  constructor(main, id, query) {
    this.main = main;
    this.turn = 0;
    this.stage = el("div", { class: "full-stage" });
    this.begin(id, query);
    this.head = el("div", { class: "full-head" });
    this.side = el("aside", {
      class: "full-side",
      "aria-label": "Outline of the neighbourhood",
      data: { scroll: "outline" },
    });
    this.newField();
    this.page = el("div", { class: "full" }, this.head, this.stage, this.side);
  }

  begin(id, query) {
    this.id = id;
    this.asked = readAsked(query);
    this.chosen = this.asked.at || id;
  }

  newField() {
    this.field?.close();
    this.field = new Field({
      id: "around",
      label: "Neighbourhood",
      name: `around ${this.id} ${this.asked.depth}`,
      onPick: (id) => this.choose(id),
    });
    replace(this.stage, this.field.frame);
  }

  concerns(event) {
    return (
      event.topic !== "system" &&
      (!this.found || this.found.nodes.some(({ id }) => id === event.subject) || isLinking(event))
    );
  }

  async look() {
    const mine = ++this.turn;
    const found = await call("record_around", {
      id: this.id,
      depth: this.asked.depth,
      expand: this.asked.open,
      limit: 60 + 20 * this.asked.open.length,
      max_chars: 400_000,
    });
    if (mine === this.turn) this.draw(found);
  }

  async go(id, query) {
    const other = id !== this.id || (Number(query.get("depth")) || 2) !== this.asked.depth;
    this.begin(id, query);
    if (other) this.newField();
    await this.look();
  }

  choose(id) {
    this.chosen = id;
    this.field.chosen = id;
    if (address().place === "know") rewrite(this.href({ at: id }));
    this.field.stand(id);
    this.field.reveal(id);
    highlight(this.field.plane, id, this.found.edges);
    redraw(this.side, this.sideParts());
  }

  href({ depth = this.asked.depth, open = this.asked.open, at = this.chosen }) {
    return link("know", "around", this.id, {
      depth: depth === 2 ? "" : depth,
      open: open.join(","),
      at: at === this.id ? "" : at,
    });
  }

  draw(found) {
    this.found = found;
    this.id = found.id;
    const known = new Map(found.nodes.map((node) => [node.id, node]));
    if (!known.has(this.chosen)) this.chosen = found.id;
    if (!this.page.isConnected) replace(this.main, this.page);
    const layout = arrange(found, this.isNarrow());
    redraw(this.head, this.headParts(known.get(found.id)));
    this.layout = layout;
    redraw(this.side, this.sideParts());
    this.field.draw(layout, layout.spots, shapes(this.field, found, layout), found.id);
    highlight(this.field.plane, this.chosen === found.id ? "" : this.chosen, found.edges);
    title(`Around ${shorten(known.get(found.id).title, 50)}`, "Know");
  }

  // Where two boxes side by side are all there is room for.
  isNarrow() {
    const { clientWidth } = this.field.frame;
    return clientWidth > 0 && clientWidth < NARROW;
  }

  headParts(center) {
    const { found } = this;
    return [
      el(
        "div",
        { data: { key: "words" } },
        el("h1", {}, `Around “${shorten(center.title, 80)}”`),
        el(
          "p",
          { class: "quiet", id: "around-count", role: "status" },
          found.nodes.length > 1
            ? `${several(found.nodes.length - 1, "record")} within ${several(this.asked.depth, "step")}`
            : "Nothing is linked with it yet.",
          found.left_out ? `; ${found.left_out} more hang on them` : "",
        ),
      ),
      el(
        "nav",
        { class: "tabs", "aria-label": "How far", data: { key: "depth" } },
        DEPTHS.map((depth) =>
          el(
            "a",
            {
              href: this.href({ depth }),
              "aria-current": depth === this.asked.depth ? "true" : null,
              data: { depth },
            },
            several(depth, "step"),
          ),
        ),
      ),
    ];
  }

  sideParts() {
    const chosen = this.found.nodes.find(({ id }) => id === this.chosen) ?? this.found.nodes[0];
    return [this.chosenCard(chosen), ...this.outline()];
  }

  chosenCard(node) {
    const isOpen = this.asked.open.includes(node.id);
    return el(
      "section",
      { class: "stack tight", id: "around-chosen", "aria-live": "polite", data: { key: "chosen" } },
      el(
        "p",
        { class: "row quiet" },
        el("span", { class: "kind" }, icon(node.kind)),
        kindWord(node.kind),
        statusBadge(node.status),
      ),
      el("h2", { dir: "auto" }, shorten(node.title || node.id, 200)),
      el(
        "p",
        { class: "row" },
        el("a", { class: "button", id: "around-open", href: objectLink(node.id) }, "Open"),
        node.id === this.id
          ? null
          : el(
              "a",
              { class: "button", id: "around-go", href: link("know", "around", node.id) },
              "Go around this",
            ),
        node.hidden && !isOpen
          ? el(
              "a",
              {
                class: "button",
                id: "around-expand",
                href: this.href({ open: [...this.asked.open, node.id] }),
              },
              `Show its ${several(node.hidden, "other neighbour")}`,
            )
          : null,
        isOpen
          ? el(
              "a",
              {
                class: "button",
                id: "around-fold",
                href: this.href({ open: this.asked.open.filter((id) => id !== node.id) }),
              },
              "Show fewer",
            )
          : null,
      ),
      node.hidden && isOpen
        ? nothing(`${several(node.hidden, "neighbour")} still left out: the picture is full.`)
        : null,
      node.more ? nothing("It has more links than are read here.") : null,
    );
  }

  // The same in words: at each record how it is linked with those before it.
  outline() {
    const { columns } = this.layout;
    const groups = [...columns.entries()]
      .filter(([column]) => column !== 0)
      .sort(([a], [b]) => Math.abs(a) - Math.abs(b) || a - b);
    return groups.map(([column, ids]) =>
      el(
        "section",
        { class: "stack tight outline-group", data: { key: `column ${column}` } },
        el("h3", {}, columnWords(column)),
        el(
          "ul",
          { class: "plain tight", data: { list: "" } },
          ids.map((id) => this.outlineRow(id)),
        ),
      ),
    );
  }

  outlineRow(id) {
    const node = this.found.nodes.find((one) => one.id === id);
    const { words = "", isPointedAt = false } = this.layout.relations.get(id) ?? {};
    const rel = words ? `${isPointedAt ? "→" : "←"} ${words}` : "";
    return el(
      "li",
      { data: { key: id } },
      el(
        "button",
        {
          type: "button",
          class: "outline-row",
          "aria-pressed": String(id === this.chosen),
          data: { act: "choose", choose: id },
          onclick: () => this.choose(id),
        },
        el("span", { class: "kind" }, icon(node.kind)),
        el("span", { class: "what" }, shorten(node.title || id, 90)),
        el("span", { class: "quiet" }, rel),
        node.hidden ? el("span", { class: "badge" }, `+${node.hidden}`) : null,
      ),
    );
  }
}

const isLinking = (event) =>
  ["records_linked", "graph_applied", "card_written"].includes(event.type);

export const columnWords = (column) =>
  ({ "-1": "It points to", 1: "Points to it" })[column] ??
  `${Math.abs(column)} steps ${column < 0 ? "on" : "back"}`;
