// An input for a record: the user types words, selects a result, and the form gets the id.

import { tryCall } from "./api.js";
import { el, replace, shorten } from "./dom.js";
import { icon, kindWord } from "./kinds.js";
import { inStore } from "./palette.js";

const PAUSE = 180,
  MOST = 8;

/**
 * @param {{name: string, kinds?: string[]}} field `kinds` that may be chosen; all when left out
 * @param {string} id of the input
 * @returns {any} an element with `value`, the chosen id
 */
export function picker(field, id) {
  return new Picker(field, id).box;
}

class Picker {
  /** @param {{kinds?: string[]}} field */
  constructor({ kinds }, id) {
    this.kinds = kinds;
    this.chosen = "";
    this.items = [];
    this.at = 0;
    this.input = el("input", {
      id,
      type: "search",
      role: "combobox",
      autocomplete: "off",
      placeholder: "Search by words or id",
      "aria-expanded": "false",
      "aria-controls": `${id}-found`,
      oninput: (event) => this.typed(event),
      onkeydown: (event) => this.key(event),
    });
    this.list = el("ul.found", { role: "listbox", id: `${id}-found`, hidden: true });
    this.chip = el("p.row.picked-record", { hidden: true });
    this.box = el("div.picker", this.input, this.list, this.chip);
    Object.defineProperty(this.box, "value", {
      get: () => this.chosen,
      set: (value) => this.name(value),
    });
    this.box.focus = () => this.input.focus();
  }

  // Typing searches; the form is notified only when something is selected.
  typed(event) {
    event.stopPropagation();
    clearTimeout(this.timer);
    const words = this.input.value.trim();
    if (words.length < 2) return this.show([]);
    this.timer = setTimeout(async () => {
      const found = await inStore(words);
      if (this.input.value.trim() !== words) return;
      const fits = found.filter(({ kind }) => !this.kinds || this.kinds.includes(kind));
      const unique = [...new Map(fits.map((item) => [item.id, item])).values()];
      this.show(unique.slice(0, MOST));
    }, PAUSE);
  }

  show(items) {
    this.items = items;
    this.at = 0;
    this.list.hidden = !items.length;
    this.input.setAttribute("aria-expanded", String(items.length > 0));
    replace(
      this.list,
      items.map((item, index) =>
        el(
          "li",
          {
            role: "option",
            id: `${this.input.id}-${index}`,
            data: { pick: item.id },
            onclick: () => this.choose(item),
          },
          el("span.kind", icon(item.kind)),
          el("span.what", shorten(item.words, 100)),
          el("span.quiet", kindWord(item.kind)),
        ),
      ),
    );
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((row, index) => {
      row.setAttribute("aria-selected", String(index === this.at));
    });
    if (this.items.length) this.input.setAttribute("aria-activedescendant", `${this.input.id}-${this.at}`);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!this.items.length) return;
    if (step) this.at = (this.at + step + this.items.length) % this.items.length;
    else if (event.key === "Enter") this.choose(this.items[this.at]);
    else if (event.key === "Escape") this.show([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.mark();
  }

  choose(item) {
    this.set(item.id, item.words, item.kind);
    this.show([]);
    this.box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  set(id, words, kind) {
    this.chosen = id;
    this.input.value = "";
    this.input.hidden = Boolean(id);
    this.chip.hidden = !id;
    replace(
      this.chip,
      icon(kind),
      el("span", shorten(words, 120)),
      el("button.small", { onclick: () => this.clear() }, "Remove", el("span.hidden-text", ` ${words}`)),
    );
  }

  clear() {
    this.set("", "", "");
    this.input.focus();
    this.box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // A preset value has an id and no words yet.
  async name(id) {
    this.set(id, id, "record");
    const found = id ? await tryCall("record_names", { ids: [id] }) : null;
    const [known] = found?.names ?? [];
    if (known && this.chosen === id) this.set(id, known.title, known.kind);
  }
}
