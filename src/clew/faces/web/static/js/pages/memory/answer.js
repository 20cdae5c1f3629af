// What recall answered: how the question was read, the results with their scores taken apart, or
// the silence explained.

import { el, shorten, svg } from "../../dom.js";
import { KINDS } from "../../graph/kinds.js";
import { icon, kindWord } from "../../kinds.js";
import { badge, idTag, nothing, placeOf, several } from "../../parts.js";
import { redraw } from "../../redraw.js";

const FEATURES = {
  wording: "it is worded like your question",
  window: "your words, here and nearby",
  lead: "your words, here and just before",
  document: "the document around it",
  coverage: "share of your words it holds",
  proximity: "your words stand close together",
  phrase: "the exact phrase",
  speaker: "said by whom you name",
  entity: "the names you gave",
  question: "it asks this itself",
  answer: "it follows such a question",
  length: "short enough to be the point",
  date: "from the time you mean",
  recency: "how recent it is",
  cue: "words such answers use",
  graph: "linked to a good result",
  status: "no longer holds",
  dense: "similar meaning",
};
const BAR = 120;

// One answer: its parts, and the facets that narrow what is shown of it.
export class Answer {
  /**
   * @param {any} found the envelope of recall
   * @param {(facets: Record<string, string>) => string} hrefOf the address of the same question with facets
   */
  constructor({ result, warnings }, hrefOf) {
    this.found = result;
    this.warnings = warnings ?? [];
    this.hrefOf = hrefOf;
    this.cards = result.results.map(resultCard);
    this.bar = el("div", {
      class: "row",
      id: "facets",
      role: "group",
      "aria-label": "Narrow the results",
    });
    this.count = el("p", { class: "quiet", id: "shown-results", role: "status" });
  }

  parts() {
    const { found } = this;
    return [
      reading(found),
      this.warnings.map((warning) => el("p", { class: "quiet" }, warning.message)),
      found.results.length ? [this.bar, this.count, this.cards, leftOut(found)] : silence(found),
    ];
  }

  // Shows what the facets of the address leave.
  narrow(query) {
    const chosen = { kind: query.get("kind") ?? "", status: query.get("status") ?? "" };
    const { results } = this.found;
    let left = 0;
    results.forEach((item, index) => {
      const fits = FACETS.every(([name, read]) => !chosen[name] || read(item) === chosen[name]);
      this.cards[index].hidden = !fits;
      left += fits ? 1 : 0;
    });
    this.count.textContent =
      left < results.length ? `${left} of ${several(results.length, "result")} shown` : "";
    redraw(
      this.bar,
      FACETS.map(([name, read]) => this.#group(name, read, chosen)),
    );
  }

  #group(name, read, chosen) {
    const counts = counted(this.found.results.map(read));
    if (counts.length < 2) return null;
    return counts.map(([value, count]) =>
      el(
        "a",
        {
          class: "facet",
          href: this.hrefOf({ ...chosen, [name]: chosen[name] === value ? "" : value }),
          "aria-current": chosen[name] === value ? "true" : null,
          data: { key: `${name} ${value}`, facet: name, value },
        },
        `${value} ${count}`,
      ),
    );
  }
}

/** @type {[string, (item: any) => string][]} */
const FACETS = [
  ["kind", (item) => item.source],
  ["status", (item) => item.status || "no status"],
];

function reading(found) {
  const about = found.analysis ?? {};
  const arms = found.arms.semantic
    ? "by words and meaning"
    : `by words${found.arms.reason ? ` (${found.arms.reason})` : ""}`;
  return el(
    "p",
    { class: "quiet", id: "intent" },
    `Read as ${found.intent}${about.confidence ? ` (${Math.round(about.confidence * 100)} % sure)` : ""} · searched ${arms}`,
    about.terms?.length ? ` · for ${about.terms.join(", ")}` : "",
    about.added?.length ? ` · and ${about.added.slice(0, 8).join(", ")}` : "",
    about.period ? " · within the time you named" : "",
  );
}

function silence({ nearest, analysis }) {
  return el(
    "section",
    { class: "teach", id: "silence" },
    el("h2", {}, "Nothing relevant is known"),
    el(
      "p",
      {},
      analysis?.candidates
        ? `${several(analysis.candidates, "item")} came near the question, but none is likely to answer it.`
        : "No stored text shares a word with the question.",
    ),
    nearest
      ? el(
          "p",
          {},
          "The nearest miss: ",
          reference(nearest),
          " ",
          el("q", {}, shorten(nearest.excerpt, 200)),
          " ",
          el("span", { class: "quiet" }, `score ${nearest.score}`),
        )
      : null,
    nothing("Other words, another source or no status filter may help."),
  );
}

function leftOut(found) {
  const left = (found.analysis?.candidates ?? found.count) - found.count;
  const folded = found.results.reduce((sum, item) => sum + (item.same?.count ?? 0), 0);
  const said = [
    left > 0 ? `${several(left, "weaker candidate")} left out` : "",
    folded ? `${several(folded, "near-copy", "near-copies")} folded in` : "",
    found.truncated ? "cut to fit" : "",
  ]
    .filter(Boolean)
    .join(" · ");
  return said ? el("p", { class: "quiet", id: "left-out" }, said) : null;
}

// The words of the question are marked where they stand.
function marked(text, words) {
  if (!words?.length) return text;
  const form = new RegExp(
    `(?<![\\p{L}\\p{N}])(${words.map(escaped).join("|")})(?![\\p{L}\\p{N}])`,
    "gu",
  );
  return String(text)
    .split(form)
    .map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function reference(item) {
  const href = placeOf(item._id);
  return href
    ? el("a", { class: "id", href }, shorten(item._id, 60))
    : el("span", { class: "id" }, shorten(item._id, 60));
}

function resultCard(item) {
  const gone = ["superseded", "revoked", "rejected", "closed", "retracted"].includes(item.status);
  return el(
    "article",
    { class: "card result", data: { ref: item._id } },
    el(
      "header",
      {},
      el("span", { class: "kind" }, icon(item.source === "thought" ? "thought" : item.type)),
      el(
        "span",
        { class: "quiet" },
        [
          item.source === "thought" ? (KINDS[item.type] ?? "thought") : kindWord(item.type),
          item.age,
          item.file ? `${item.file}:${item.line}` : "",
        ]
          .filter(Boolean)
          .join(" · "),
      ),
      item.status ? badge(item.status.toLowerCase(), gone ? "warn" : "") : null,
      el(
        "span",
        { class: "end row" },
        idTag(item._id),
        el("b", { class: "score", title: `score ${item.score}` }, item.score.toFixed(2)),
      ),
    ),
    el(
      "p",
      { class: "said" },
      el("a", { href: placeOf(item._id) }, marked(item.excerpt, item.explain?.marks)),
    ),
    item.review_due ? el("p", {}, badge(`to be reviewed by ${item.review_by}`, "warn")) : null,
    item.linked
      ? el("p", { class: "quiet" }, `reached by a link: ${item.linked.relation} ${item.linked.to}`)
      : null,
    item.same
      ? el(
          "p",
          { class: "quiet" },
          `stands for ${several(item.same.count, "near-copy", "near-copies")}: ${item.same.ids.join(", ")}`,
        )
      : null,
    why(item.explain),
  );
}

function why(explained) {
  const parts = explained?.parts ?? [];
  if (!parts.length) return null;
  const most = Math.max(...parts.map((part) => Math.abs(part.part)));
  return el(
    "details",
    {},
    el("summary", {}, "Why this score"),
    el(
      "table",
      { class: "features" },
      el(
        "tbody",
        {},
        parts.map((part) =>
          el(
            "tr",
            { data: { feature: part.feature } },
            el("th", { scope: "row" }, FEATURES[part.feature] ?? part.feature),
            el("td", {}, bar(part.part, most)),
            el("td", {}, part.part.toFixed(2)),
            el(
              "td",
              { class: "quiet" },
              `${part.feature} ${part.value} × ${Number(part.weight.toFixed(2))}`,
            ),
          ),
        ),
      ),
    ),
    explained.words?.length
      ? el("p", { class: "quiet" }, `Words found in it: ${explained.words.join(", ")}`)
      : null,
  );
}

function bar(value, most) {
  const width = Math.max(2, (Math.abs(value) / most) * BAR);
  return svg(
    "svg",
    { width: BAR, height: 10, class: "bar", "aria-hidden": "true" },
    svg("rect", { class: "track", width: BAR, height: 10, rx: 5 }),
    svg("rect", { class: value < 0 ? "minus" : "plus", width, height: 10, rx: 5 }),
  );
}
