// The thoughts of a session as a list: to be read from top to bottom, by keyboard or by a screen reader,
// all of them or those of some kinds.

import { call } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { KINDS, plainText } from "./kinds.js";

const PAGE = 200;
const ROOM = 4_000_000;

export class Outline {
  // onSelect(id) opens a thought; `model()` is the session as it is now.
  constructor(model, onSelect) {
    this.model = model;
    this.onSelect = onSelect;
    this.kinds = new Set();
    this.list = el("ol", { class: "outline", "aria-label": "Thoughts" });
    this.element = el(
      "section",
      { class: "outline-view", id: "outline", hidden: true, data: { scroll: "outline" } },
      el("div", { class: "kinds", role: "group", "aria-label": "Only these kinds" }, this.#chips()),
      this.list,
    );
  }

  get isShown() {
    return !this.element.hidden;
  }

  async toggle(isShown) {
    this.element.hidden = !isShown;
    if (isShown) await this.draw();
  }

  // From the first thought on; more are read when somebody asks for them.
  async draw() {
    this.cursor = undefined;
    replace(this.list);
    await this.#more();
  }

  #chips() {
    return Object.entries(KINDS).map(([letter, name]) => {
      const chip = el(
        "button",
        {
          type: "button",
          class: `chip kind-${letter}`,
          "aria-pressed": "false",
          onclick: () => this.#choose(letter, chip),
        },
        name,
      );
      return chip;
    });
  }

  #choose(letter, chip) {
    if (!this.kinds.delete(letter)) this.kinds.add(letter);
    chip.setAttribute("aria-pressed", String(this.kinds.has(letter)));
    for (const row of this.list.children) this.#filter(/** @type {HTMLElement} */ (row));
  }

  #filter(row) {
    row.hidden =
      this.kinds.size > 0 && row.dataset.kind !== undefined && !this.kinds.has(row.dataset.kind);
  }

  async #more() {
    const page = await call("session_outline", {
      sessionId: this.model().session.id,
      cursor: this.cursor,
      limit: PAGE,
      chars: 400,
      max_chars: ROOM,
    });
    this.cursor = page.pagination?.next_cursor ?? undefined;
    for (const thought of page.thoughts) this.list.append(this.#row(thought));
    if (page.pagination?.has_more) this.list.append(this.#moreButton());
  }

  #moreButton() {
    const row = el(
      "li",
      { class: "more" },
      el(
        "button",
        {
          type: "button",
          class: "small",
          onclick: async () => {
            row.remove();
            await this.#more();
          },
        },
        "show more",
      ),
    );
    return row;
  }

  #row(thought) {
    const id = this.model().id(thought.thoughtNumber, thought.branchId);
    const kind = this.model().find(id)?.kind || "";
    const words = shorten(plainText(thought.thought ?? thought.text), 240);
    const row = el(
      "li",
      { data: { kind, id } },
      el(
        "button",
        { type: "button", class: "row", onclick: () => this.onSelect(id) },
        el("span", { class: "number" }, thought.thoughtNumber),
        el("span", { class: `chip kind-${kind || "none"}` }, KINDS[kind] ?? "thought"),
        el("span", { class: "words", dir: "auto" }, words),
      ),
    );
    this.#filter(row);
    return row;
  }
}
