// The results of recall: clear answers first, then weak ones, each with its status; or that nothing
// is known. Scores are behind Details.

import { el, shorten } from "../../dom.js";
import { STATUS } from "../../facts.js";
import { KINDS } from "../../graph/kinds.js";
import { icon, kindWord } from "../../kinds.js";
import { relWords } from "../../links.js";
import { markdownButtons, resultsMarkdown } from "../../markdown.js";
import { badge, idTag, nothing, placeOf, several, stateBadges } from "../../parts.js";
import { redraw } from "../../redraw.js";

const CLEAR = "clear";

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
    this.bar = el("div#facets.row", { role: "group", "aria-label": "Narrow the results" });
    this.count = el("p#shown-results.quiet", { role: "status" });
  }

  parts() {
    const { results } = this.found;
    if (!results.length) return [this.#warnings(), silence(this.found)];
    const near = results.findIndex(({ strength }) => strength !== CLEAR);
    const clear = near < 0 ? results.length : near;
    const cards = this.cards;
    return [
      this.#warnings(),
      el(
        "div.row",
        markdownButtons("recall", () => resultsMarkdown(this.found.query, results)),
      ),
      this.bar,
      this.count,
      cards.slice(0, clear),
      clear < results.length
        ? el("h2#nearest.quiet", clear ? "Weakly related" : "Nothing clearly answers this. The nearest:")
        : null,
      cards.slice(clear),
      leftOut(this.found),
    ];
  }

  #warnings() {
    return this.warnings.map(({ message }) => el("p.quiet", message));
  }

  // Shows what the facets of the address leave.
  narrow(query) {
    const chosen = { kind: query.get("kind") ?? "", status: query.get("status") ?? "" };
    const { results } = this.found;
    const fits = results.map((item) => FACETS.every(([name, read]) => !chosen[name] || read(item) === chosen[name]));
    fits.forEach((is, index) => {
      this.cards[index].hidden = !is;
    });
    const left = fits.filter(Boolean).length;
    this.count.textContent = left < results.length ? `${left} of ${several(results.length, "result")} shown` : "";
    redraw(
      this.bar,
      FACETS.map(([name, read]) => this.#group(name, read, chosen)),
    );
  }

  #group(name, read, chosen) {
    const groups = Map.groupBy(this.found.results, read);
    if (groups.size < 2) return null;
    return [...groups].map(([value, own]) =>
      el(
        "a.facet",
        {
          href: this.hrefOf({ ...chosen, [name]: chosen[name] === value ? "" : value }),
          "aria-current": chosen[name] === value ? "true" : null,
          key: `${name} ${value}`,
          data: { facet: name, value },
        },
        `${value} ${own.length}`,
      ),
    );
  }
}

const kindOfResult = ({ source, type }) =>
  source === "thought" ? (KINDS[type] ?? "thought") : kindWord(source === "evidence" ? "proof" : type || source);

// Statuses specific to a store are shown with the label for records; evidence with its outcome.
const wordOf = ({ source, state, status }) =>
  source === "evidence" ? status : state === STATUS.PENDING ? STATUS.PROPOSED : state;

/** @type {[string, (item: any) => string][]} */
const FACETS = [
  ["kind", kindOfResult],
  ["status", (item) => (wordOf(item) || item.status || "no status").split(",")[0].toLowerCase()],
];

function silence({ nearest, analysis }) {
  return el(
    "section#silence.teach",
    el("h2", "Nothing is known about this"),
    el(
      "p",
      analysis?.candidates
        ? `${several(analysis.candidates, "record")} share words with the question, but none is likely to answer it.`
        : "No record shares a word with the question.",
    ),
    nearest
      ? el("p", "The nearest: ", el("a", { href: placeOf(nearest._id) }, el("q", shorten(nearest.excerpt, 200))))
      : null,
    nothing("Try other words, or look in everything."),
  );
}

function leftOut(found) {
  const left = (found.analysis?.candidates ?? found.count) - found.count;
  return left > 0 ? el("p#left-out.quiet", `${several(left, "weaker result")} left out`) : null;
}

// The words of the question are marked where they occur.
function marked(text, words) {
  if (!words?.length) return text;
  const form = new RegExp(`(?<![\\p{L}\\p{N}])(${words.map(escaped).join("|")})(?![\\p{L}\\p{N}])`, "gu");
  return String(text)
    .split(form)
    .map((part, index) => (index % 2 ? el("mark", part) : part));
}

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const ageWords = (age) => (/^\d/.test(age ?? "") ? `${age} ago` : age);

function resultCard(item) {
  const weak = item.strength && item.strength !== CLEAR;
  return el(
    "article",
    { class: `card result${weak ? " weak" : ""}`, data: { ref: item._id } },
    el(
      "header",
      el("span.kind", icon({ thought: "thought", evidence: "proof" }[item.source] ?? item.type)),
      el("span.quiet", [kindOfResult(item), ageWords(item.age)].filter(Boolean).join(" · ")),
      stateBadges({ ...item, kind: item.type, label: wordOf(item) }),
      item.source === "thought" ? null : el("span.end.row", idTag(item._id)),
    ),
    el("p.said", el("a", { href: placeOf(item._id) }, marked(item.excerpt, item.explain?.marks))),
    item.review_due ? el("p", badge(`review by ${item.review_by}`, "warn")) : null,
    item.linked ? el("p.quiet", linkWords(item.linked)) : null,
    item.same
      ? el("p.quiet", `and ${several(item.same.count, "near-copy", "near-copies")}: ${item.same.ids.join(", ")}`)
      : null,
    details(item),
  );
}

// Such as "mentioned by D-1": the server names the side that the link begins at.
function linkWords({ relation, to, depth }) {
  if (depth > 1) return ["linked, over another record, with ", el("a", { href: placeOf(to) }, to)];
  const [rel, side] = String(relation).split(" ");
  return [relWords(rel, side === "(from)"), " ", el("a", { href: placeOf(to) }, to)];
}

function details({ explain, score, file, line }) {
  const parts = explain?.parts ?? [];
  if (!parts.length) return null;
  return el(
    "details",
    el("summary", "Details"),
    el("p.quiet", `Score ${score.toFixed(2)}${file ? ` · ${file}:${line}` : ""}`),
    el(
      "table.features",
      el(
        "tbody",
        parts.map(({ feature, part, value, weight }) =>
          el(
            "tr",
            { data: { feature } },
            el("th", { scope: "row" }, feature),
            el("td", part.toFixed(2)),
            el("td.quiet", `${value} × ${Number(weight.toFixed(2))}`),
          ),
        ),
      ),
    ),
  );
}
