// The recall playground: a question, how it was read, what was found, and each score taken apart.

import { envelope } from "../../api.js";
import { el, replace } from "../../dom.js";
import { callText, problemCard, teach } from "../../parts.js";
import { link, rewrite } from "../../router.js";
import { answerParts } from "./answer.js";

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

/**
 * @param {HTMLElement} body
 * @param {string[]} address
 */
export function showRecall(
  body,
  [query = "", sources = "all", intent = "-", holds = "-", day = ""],
) {
  const words = el("input", {
    type: "search",
    id: "query",
    required: true,
    maxlength: 4000,
    data: { search: "" },
    placeholder: "Ask in your own words ( / )",
    "aria-label": "Question",
    class: "grow",
  });
  words.value = query;
  const fields = {
    sources: choice("sources", SOURCES, sources),
    intent: choice("intent-wanted", INTENTS, intent === "-" ? "" : intent),
    holds: choice("holds", HOLDS, holds === "-" ? "" : holds),
    day: el("input", { type: "date", id: "as-of", value: day }),
  };
  const results = el("div", { class: "stack", id: "results", "aria-live": "polite" });
  const ask = async (event) => {
    event?.preventDefault();
    if (words.value.trim()) await answer(results, words.value, fields);
  };
  replace(
    body,
    el(
      "form",
      { class: "card ask", onsubmit: ask },
      el("div", { class: "row" }, words, el("button", { class: "primary" }, "Recall")),
      el(
        "div",
        { class: "row filters" },
        label("Look in", fields.sources),
        label("The question is after", fields.intent),
        label("Status", fields.holds),
        label("As it stood on", fields.day),
      ),
    ),
    results,
  );
  for (const field of Object.values(fields)) field.addEventListener("change", () => ask());
  if (query) ask();
  else replace(results, intro());
  words.focus();
}

function choice(id, options, chosen) {
  return el(
    "select",
    { id },
    options.map(([value, words]) => el("option", { value, selected: value === chosen }, words)),
  );
}

const label = (words, field) => el("label", { class: "field" }, words, field);

let turn = 0;
async function answer(results, query, { sources, intent, holds, day }) {
  const mine = ++turn;
  rewrite(
    link(
      "know",
      "recall",
      query,
      sources.value,
      intent.value || "-",
      holds.value || "-",
      ...(day.value ? [day.value] : []),
    ),
  );
  results.setAttribute("aria-busy", "true");
  try {
    const found = await envelope("recall", {
      query,
      limit: 20,
      explain: true,
      max_chars: 200_000,
      sources: [sources.value],
      active_only: holds.value === "active",
      intent: intent.value || undefined,
      as_of: day.value || undefined,
    });
    if (mine === turn) replace(results, answerParts(found));
  } catch (problem) {
    if (mine === turn) replace(results, problemCard(problem));
  } finally {
    if (mine === turn) results.removeAttribute("aria-busy");
  }
}

function intro() {
  return teach(
    "What do we know about …?",
    "Recall searches decisions, notes, cards, thoughts, tasks and evidence by their words, and by meaning when a model is installed. Every score is shown with its parts. An agent asks the same way:",
    callText("recall", { query: "why did we choose PostgreSQL", sources: ["all"], explain: true }),
  );
}
