// The thoughts of a session as an outline: to be read from top to bottom, by keyboard or by a screen
// reader, each branch indented under the thought that it leaves; all of them or those of some kinds.

import { el, shorten } from "../dom.js";
import { redraw } from "../redraw.js";
import { KINDS, plainText } from "./kinds.js";

const PAGE = 200,
  PAUSE = 100,
  DEEPEST = 4;

export class Outline {
  /**
   * @param {() => any} model the session as it is now
   * @param {() => any} openings the first words of its thoughts
   * @param {(id: string) => void} onSelect opens a thought
   */
  constructor(model, openings, onSelect) {
    this.model = model;
    this.openings = openings;
    this.onSelect = onSelect;
    this.kinds = new Set();
    this.limit = PAGE;
    this.chips = el("div.kinds", { role: "group", "aria-label": "Only these kinds" });
    this.list = el("ol.outline", { "aria-label": "Thoughts" });
    this.element = el(
      "section#outline.outline-view",
      { hidden: true, data: { scroll: "outline" } },
      this.chips,
      this.list,
    );
  }

  get isShown() {
    return !this.element.hidden;
  }

  toggle(isShown) {
    this.element.hidden = !isShown;
    this.draw();
  }

  // A thought was added, or words came: however many, the list is drawn once.
  soon() {
    if (this.isShown) this.timer ??= setTimeout(() => this.draw(), PAUSE);
  }

  draw() {
    this.timer = undefined;
    if (!this.isShown) return;
    redraw(this.chips, this.#chips());
    const rows = this.#rows(this.model().chains.has("") ? "" : this.#roots()[0], 0);
    const shown = rows.filter(({ record }) => !this.kinds.size || this.#fits(record));
    const more = shown.length - this.limit;
    redraw(this.list, [
      ...shown.slice(0, this.limit).map((row) => this.#row(row)),
      more > 0 ? this.#moreButton(more) : null,
    ]);
  }

  #fits(record) {
    return record && this.kinds.has(record.kind);
  }

  #roots() {
    return [...this.model().chains.keys()];
  }

  // The thoughts of a chain in their order, after each of them the branches that leave it.
  #rows(chain, depth) {
    const model = this.model();
    const own = model.chains.get(chain);
    if (!own) return [];
    const leaving = Map.groupBy(
      [...model.chains.values()].filter(({ name }) => name && name !== chain),
      ({ origin }) => origin?.id ?? "",
    );
    const branch = ({ name }) => [{ branch: name, depth: depth + 1 }, ...this.#rows(name, depth + 1)];
    const rows = own.indexes.flatMap((index) => {
      const record = model.order[index];
      return [{ record, depth }, ...(leaving.get(record.id) ?? []).flatMap(branch)];
    });
    return chain ? rows : [...rows, ...(leaving.get("") ?? []).flatMap(branch)];
  }

  #chips() {
    return Object.entries(KINDS).map(([letter, name]) =>
      el(
        "button",
        {
          class: `chip kind-${letter}`,
          "aria-pressed": String(this.kinds.has(letter)),
          key: letter,
          onclick: () => {
            if (!this.kinds.delete(letter)) this.kinds.add(letter);
            this.draw();
          },
        },
        name,
      ),
    );
  }

  #moreButton(count) {
    const more = () => {
      this.limit += PAGE;
      this.draw();
    };
    return el("li.more", { key: "more" }, el("button.small", { onclick: more }, `Show more (${count})`));
  }

  #row({ record, branch, depth }) {
    const indent = Math.min(depth, DEEPEST);
    if (branch !== undefined)
      return el(
        "li.branch",
        { key: `branch ${branch}`, data: { depth: indent, branch } },
        `Branch ${this.model().name(branch)}`,
      );
    const opening = this.openings()?.get(record.index);
    return el(
      "li",
      { key: record.id, data: { kind: record.kind, id: record.id, depth: indent } },
      el(
        "button.row",
        { onclick: () => this.onSelect(record.id) },
        el("span.number", record.number),
        el("span", { class: `chip kind-${record.kind || "none"}` }, KINDS[record.kind] ?? "thought"),
        el("span.words", { dir: "auto" }, opening ? shorten(plainText(opening.text), 240) : "…"),
      ),
    );
  }
}
