// The elements of the picture: one for each thought in view, one for each lane's name. A node is
// created once and then only moved; one that leaves the view is removed from the document.

import { el, shorten } from "../dom.js";
import { KINDS, plainText } from "./kinds.js";

const SHOWN = 160;

export class Nodes {
  constructor(world, { onSelect, onFold, onStep }) {
    this.world = world;
    this.onSelect = onSelect;
    this.onFold = onFold;
    this.onStep = onStep;
    this.nodes = new Map();
    this.headers = new Map();
    this.selected = null;
    this.found = new Set();
  }

  // Begins a drawing; nodes that are not shown until `end` are removed.
  begin() {
    this.seen = new Set();
    this.named = new Set();
  }

  // True when the node shows its text.
  show(record, x, y, opening, isFresh) {
    this.seen.add(record.id);
    const known = this.nodes.get(record.id) ?? this.#make(record, isFresh);
    move(known, x, y);
    if (opening && !known.filled) fill(known, opening);
    return known.filled;
  }

  name(lane, x, y, name) {
    this.named.add(lane.name);
    const known = this.headers.get(lane.name) ?? this.#makeHeader(lane.name, name);
    move(known, x, y);
    if (known.lanes === lane.count && known.folded === lane.folded) return;
    known.lanes = lane.count;
    known.folded = lane.folded;
    known.count.textContent = `${lane.count} thought${lane.count === 1 ? "" : "s"}`;
    known.element.setAttribute("aria-expanded", String(!lane.folded));
    known.element.classList.toggle("folded", lane.folded);
  }

  end() {
    for (const [id, { element }] of this.nodes)
      if (!this.seen.has(id)) {
        element.remove();
        this.nodes.delete(id);
      }
    for (const [name, { element }] of this.headers)
      if (!this.named.has(name)) {
        element.remove();
        this.headers.delete(name);
      }
  }

  select(id) {
    this.selected = id;
    for (const [other, { element }] of this.nodes) element.classList.toggle("selected", other === id);
  }

  // True when the node is in the picture and has the focus now.
  focus(id) {
    const known = this.nodes.get(id);
    known?.element.focus({ preventScroll: true });
    return Boolean(known);
  }

  mark(ids) {
    this.found = new Set(ids);
    for (const [id, { element }] of this.nodes) element.classList.toggle("found", this.found.has(id));
  }

  critiqued(id) {
    const known = this.nodes.get(id);
    if (known && !known.element.querySelector(".critiqued"))
      known.element.querySelector("header").append(critiqueTag());
  }

  #make(record, isFresh) {
    const text = el("p", { dir: "auto" });
    const element = el(
      "div",
      {
        class: `node kind-${record.kind || "none"}`,
        role: "button",
        tabindex: "0",
        data: { id: record.id },
        onclick: () => this.onSelect(record.id),
        onkeydown: (event) => {
          const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
          if (by) this.onStep(record, by);
          else if (event.key === "Enter" || event.key === " ") this.onSelect(record.id, true);
          else return;
          event.preventDefault();
        },
      },
      el(
        "header",
        el("span.hidden-text", "Thought "),
        el("span.number", record.number),
        KINDS[record.kind]
          ? [
              el("span.hidden-text", ` ${KINDS[record.kind]} `),
              el("abbr.kind", { title: KINDS[record.kind], "aria-hidden": "true" }, record.kind),
            ]
          : null,
        record.revised === null ? null : el("span.tag", `revises ${record.revised}`),
        record.critique ? critiqueTag() : null,
      ),
      text,
    );
    element.classList.toggle("fresh", isFresh);
    element.classList.toggle("selected", this.selected === record.id);
    element.classList.toggle("found", this.found.has(record.id));
    const known = { element, text, filled: false };
    this.nodes.set(record.id, known);
    this.world.append(element);
    return known;
  }

  #makeHeader(name, shown) {
    const count = el("span.count");
    const element = el(
      "button.lane",
      { data: { branch: name }, onclick: () => this.onFold(name) },
      el("bdi.name", shorten(shown, 60)),
      count,
    );
    const known = { element, count };
    this.headers.set(name, known);
    this.world.append(element);
    return known;
  }
}

function critiqueTag() {
  return el("span.tag.critiqued", { title: "has a critique" }, "critique");
}

function move(known, x, y) {
  if (known.x === x && known.y === y) return;
  known.x = x;
  known.y = y;
  known.element.style.transform = `translate(${x}px, ${y}px)`;
}

function fill(known, opening) {
  const words = shorten(plainText(opening.text), SHOWN);
  known.text.textContent = opening.cut && !words.endsWith("…") ? `${words}…` : words;
  known.filled = true;
}
