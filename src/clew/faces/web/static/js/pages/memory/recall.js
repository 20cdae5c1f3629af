// The recall playground: a question, how it was read, what was found, and each score taken apart.

import { envelope } from "../../api.js";
import { el, replace } from "../../dom.js";
import { withKey } from "../../keys.js";
import { callText, problemCard, skeleton, teach } from "../../parts.js";
import { address, link, rewrite } from "../../router.js";
import { Answer } from "./answer.js";

const SOURCES = [
  ["all", "everything"],
  ["blocks", "memory files"],
  ["cards", "cards"],
  ["notes", "notes"],
  ["thoughts", "thoughts"],
  ["tasks", "tasks"],
  ["evidence", "evidence"],
  ["patterns", "patterns"],
];
const INTENTS = [
  ["", "as the words say"],
  ["WHY", "why"],
  ["WHEN", "when"],
  ["ENTITY", "who or which"],
  ["WHAT", "what"],
  ["HOW", "how"],
  ["LIST", "list all"],
  ["VERIFY", "is it true"],
  ["COMPARE", "compare"],
  ["TRACE", "how it came about"],
];
const HOLDS = [
  ["", "any"],
  ["active", "only what still holds"],
];

// Draws the form; returns the call that follows the address: another question is asked, another
// facet only narrows what is shown.
export function showRecall(body, parts, query) {
  const form = new Form();
  const results = el("div", { class: "stack", id: "results", "aria-live": "polite" });
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
    this.words = el("input", {
      type: "search",
      id: "query",
      required: true,
      maxlength: 4000,
      data: { search: "" },
      placeholder: withKey("Ask in your own words", "/"),
      "aria-label": "Question",
      class: "grow",
    });
    this.sources = choice("sources", SOURCES);
    this.intent = choice("intent-wanted", INTENTS);
    this.holds = choice("holds", HOLDS);
    this.day = el("input", { type: "date", id: "as-of" });
  }

  draw(ask) {
    for (const field of [this.sources, this.intent, this.holds, this.day])
      field.addEventListener("change", () => ask());
    return el(
      "form",
      { class: "card ask", onsubmit: ask },
      el("div", { class: "row" }, this.words, el("button", { class: "primary" }, "Recall")),
      el(
        "div",
        { class: "row filters" },
        label("Look in", this.sources),
        label("The question is after", this.intent),
        label("Status", this.holds),
        label("As it stood on", this.day),
      ),
    );
  }

  read([query = "", sources = "all", intent = "-", holds = "-", day = ""]) {
    this.words.value = query;
    this.sources.value = sources;
    this.intent.value = intent === "-" ? "" : intent;
    this.holds.value = holds === "-" ? "" : holds;
    this.day.value = day;
  }

  parts() {
    return [
      this.words.value,
      this.sources.value,
      this.intent.value || "-",
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
      intent: this.intent.value || undefined,
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

const label = (words, field) => el("label", { class: "field" }, words, field);

function intro() {
  return teach(
    "What do we know about …?",
    "Recall searches decisions, notes, cards, thoughts, tasks and evidence by their words, and by meaning when a model is installed. Every score is shown with its parts. An agent asks the same way:",
    callText("recall", { query: "why did we choose PostgreSQL", sources: ["all"], explain: true }),
  );
}
