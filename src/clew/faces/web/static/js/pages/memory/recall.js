// A question to memory and its answer.

import { envelope } from "../../api.js";
import { el, replace } from "../../dom.js";
import { withKey } from "../../keys.js";
import { problemCard, skeleton, teach } from "../../parts.js";
import { address, link, rewrite } from "../../router.js";
import { Answer } from "./answer.js";

const SOURCES = [
  ["all", "everything"],
  ["blocks", "decisions, rules, lessons"],
  ["cards", "cards"],
  ["notes", "notes"],
  ["thoughts", "thoughts"],
  ["tasks", "tasks"],
  ["evidence", "evidence"],
  ["patterns", "patterns"],
];
const HOLDS = [
  ["", "any"],
  ["active", "only what still holds"],
];

// Draws the form; returns a function that follows the address: another question is searched,
// another facet only filters the view.
export function showRecall(body, parts, query) {
  const form = new Form();
  const results = el("div#results.stack", { "aria-live": "polite" });
  let answer = null,
    turn = 0;
  const ask = async () => {
    if (!form.words.value.trim()) return;
    const mine = ++turn;
    results.setAttribute("aria-busy", "true");
    if (!results.querySelector(".result")) replace(results, skeleton(4));
    try {
      const found = await envelope("recall", form.question());
      if (mine !== turn) return;
      answer = new Answer(found, (facets) => link("know", "recall", ...form.parts(), facets));
      replace(results, answer.parts());
      answer.narrow(address().place === "know" ? address().query : query);
    } catch (problem) {
      answer = null;
      if (mine === turn) replace(results, problemCard(problem));
    } finally {
      if (mine === turn) results.removeAttribute("aria-busy");
    }
  };
  // A question of the reader's own begins without facets; the address follows it.
  const asked = (event) => {
    event?.preventDefault();
    if (form.words.value.trim()) rewrite(link("know", "recall", ...form.parts()));
    return ask();
  };
  form.emptied = () => {
    turn += 1;
    answer = null;
    replace(results, intro());
    rewrite(link("know", "recall"));
  };
  replace(body, form.draw(asked), results);
  form.read(parts);
  if (form.words.value) ask();
  else replace(results, intro());
  form.words.focus();
  return (moved, changed) => {
    if (form.isSame(moved)) return answer?.narrow(changed);
    form.read(moved);
    return form.words.value ? ask() : replace(results, intro());
  };
}

class Form {
  constructor() {
    /** @type {(() => void) | null} */
    this.emptied = null;
    this.words = el("input#query.grow", {
      type: "search",
      required: true,
      maxlength: 4000,
      data: { search: "" },
      placeholder: withKey("Ask in your own words", "/"),
      "aria-label": "Question",
      onkeydown: (event) => event.key === "Escape" && this.clear(),
    });
    this.sources = choice("sources", SOURCES);
    this.holds = choice("holds", HOLDS);
    this.day = el("input#as-of", { type: "date" });
  }

  // An empty question has no answer: the results go with it.
  clear() {
    this.words.value = "";
    this.emptied?.();
  }

  draw(ask) {
    for (const field of [this.sources, this.holds, this.day]) field.addEventListener("change", () => ask());
    return el(
      "form.card.ask",
      { onsubmit: ask },
      el("div.row", this.words, el("button.primary", { type: "submit" }, "Recall")),
      el("div.row.filters", label("Look in", this.sources), label("Status", this.holds), label("As of", this.day)),
    );
  }

  read([query = "", sources = "all", _intent, holds = "-", day = ""]) {
    this.words.value = query;
    this.sources.value = sources;
    this.holds.value = holds === "-" ? "" : holds;
    this.day.value = day;
  }

  parts() {
    return [
      this.words.value,
      this.sources.value,
      "-",
      this.holds.value || "-",
      ...(this.day.value ? [this.day.value] : []),
    ];
  }

  isSame(parts) {
    const other = new Form();
    other.read(parts);
    return other.parts().join("\n") === this.parts().join("\n");
  }

  question() {
    return {
      query: this.words.value,
      limit: 20,
      explain: true,
      max_chars: 200_000,
      sources: [this.sources.value],
      active_only: this.holds.value === "active",
      as_of: this.day.value || undefined,
    };
  }
}

function choice(id, options) {
  return el(
    "select",
    { id },
    options.map(([value, words]) => el("option", { value }, words)),
  );
}

const label = (words, field) => el("label.field", words, field);

const intro = () => teach("What do we know about …?", "Ask in your own words, such as: why did we choose PostgreSQL");
