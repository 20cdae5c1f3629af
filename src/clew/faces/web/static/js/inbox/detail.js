// The chosen matter: what it asks, who asks and from where, what it would change, what speaks
// against it, what happens if nobody acts.

import { envelope, tryCall } from "../api.js";
import { ago, day, el } from "../dom.js";
import { icon, kindWord } from "../kinds.js";
import { proofsPart } from "../object/work.js";
import { badge, diffView, idTag, prose, recordLink } from "../parts.js";
import { byWords } from "../people.js";
import { fold } from "../redraw.js";
import { objectLink } from "../router.js";
import { conflictNow } from "./conflict.js";
import { fieldChoice } from "./fields.js";
import { waysOf } from "./ways.js";

export const KIND_WORDS = {
  job: "a job asks",
  step: "blocked step",
  conflict: "merge conflict",
  contradiction: "contradiction",
  proposal: "proposal",
  fact: "shared fact",
  review: "review is due",
  proof: "not proven",
  signal: "signal",
};
export const KIND_ICONS = { review: "review", proof: "receipt" };

// What has to be asked for: only of the one that is looked at.
const MORE = {
  proposal: tryProposal,
  conflict: async ({ id }) => ({ conflict: await conflictNow(id) }),
  job: async ({ id }) => ({
    job: await tryCall("tasks_jobs_open", {
      job: id,
      include_prompt: true,
      include_events: true,
      max_events: 20,
      fmt: "json",
      max_chars: 200_000,
    }),
  }),
  proof: async ({ facts }) => ({
    proofs: await tryCall("record_view", { id: facts.task, max_chars: 400_000 }),
  }),
};

export const moreAbout = async (item) => (await MORE[item.kind]?.(item)) ?? {};

// The difference is made by trying the proposal for real and throwing the result away.
async function tryProposal({ id, until_ms: until }) {
  if (until) return {};
  try {
    const answer = await envelope("approve_apply", { proposal_id: id, dry_run: true });
    return { diff: answer.result.diff, warnings: answer.warnings };
  } catch (problem) {
    return { problem };
  }
}

export function detailParts(item, more, buttons) {
  return [
    el(
      "header",
      { class: "record-head", data: { key: "head" } },
      el(
        "p",
        { class: "row quiet" },
        el("span", { class: "kind" }, icon(KIND_ICONS[item.kind] ?? item.kind)),
        KIND_WORDS[item.kind] ?? kindWord(item.kind),
        item.risk ? badge(`${item.risk} risk`, item.risk === "high" ? "bad" : "") : null,
        el("span", { class: "end" }, idTag(item.id)),
      ),
      el(
        "h2",
        { class: "record-title", id: "matter-title", tabindex: "-1", dir: "auto" },
        item.title,
      ),
      el(
        "p",
        { class: "quiet" },
        item.by ? ["asked by ", el("strong", {}, byWords(item.by)), " · "] : "",
        ago(item.ts_ms),
        item.until_ms ? ` · put off until ${day(item.until_ms)}` : "",
        " · ",
        el("a", { href: objectLink(item.id) }, "open the record"),
      ),
    ),
    el("div", { class: "actions", id: "ways", data: { key: "ways" } }, buttons),
    finalWords(item),
    item.note ? el("div", { data: { key: "note" } }, prose(item.note)) : null,
    item.advice
      ? el(
          "p",
          { class: "advice", data: { key: "advice" } },
          badge("advice", "good"),
          ` ${item.advice}.`,
        )
      : null,
    el("div", { class: "stack", data: { key: "more" } }, moreParts(item, more)),
    item.about.length
      ? el(
          "section",
          { class: "part", data: { key: "about" } },
          el("h3", {}, "Where it comes from, what it is about"),
          el(
            "ul",
            { class: "plain" },
            item.about.map((one) => el("li", { data: { key: one.id } }, recordLink(one))),
          ),
        )
      : null,
    el(
      "section",
      { class: "part", data: { key: "nobody" } },
      el("h3", {}, "If nobody acts"),
      el("p", {}, item.if_nobody),
    ),
  ];
}

// What cannot be taken back is said before it is done.
function finalWords(item) {
  const final = waysOf(item).filter((way) => way.final);
  if (!final.length) return null;
  const words = final.map((way) => `${way.words} (${way.final})`).join("; ");
  return el(
    "p",
    { class: "quiet", id: "final", data: { key: "final" } },
    `Cannot be undone: ${words}.`,
  );
}

function moreParts(item, more) {
  if (item.kind === "proposal") return proposalParts(more);
  if (item.kind === "contradiction") return sides(item);
  if (item.kind === "conflict") return more.conflict ? fieldChoice(item, more.conflict) : null;
  if (item.kind === "job") return jobParts(more.job);
  if (item.kind === "proof") return more.proofs ? proofsPart(more.proofs) : null;
  return null;
}

function proposalParts({ diff, warnings = [], problem }) {
  return [
    problem ? el("p", { class: "problem" }, problem.message) : null,
    warnings.map((warning) => el("p", {}, badge("careful", "warn"), ` ${warning.message}`)),
    diff
      ? el(
          "section",
          { class: "part", data: { key: "effect" } },
          el("h3", {}, "What it would change"),
          humanDiff(diff),
          fold("raw diff", "As text", diffView(diff)),
        )
      : null,
  ];
}

const HIDDEN = /^(Date|Status: active|Scope: global|Supersedes: none|Sources|Tags: untagged|- |\[)/;

// Field by field, old and new; what goes without saying is left to the raw text.
export function humanDiff(text) {
  const rows = new Map();
  for (const line of String(text).split("\n")) {
    const [, sign, name, value] = /^([+-])([A-Z][A-Za-z]+): ?(.*)$/.exec(line) ?? [];
    if (!sign || (sign === "+" && HIDDEN.test(`${name}: ${value}`))) continue;
    const row = rows.get(name) ?? {};
    row[sign] = value;
    rows.set(name, row);
  }
  return el(
    "dl",
    { class: "facts changes" },
    [...rows.entries()].flatMap(([name, row]) => [
      el("dt", {}, name),
      el(
        "dd",
        {},
        row["-"] && row["+"]
          ? marked(row["-"], row["+"])
          : row["+"]
            ? el("ins", {}, row["+"])
            : el("del", {}, row["-"] ?? ""),
      ),
    ]),
  );
}

// Old and new with the words marked that only one of them has.
export function marked(before, after) {
  const words = (text) => String(text).split(/(\s+)/);
  const had = new Set(words(before)),
    has = new Set(words(after));
  const part = (tag, text, others) =>
    words(text).map((word) => (word.trim() && !others.has(word) ? el(tag, {}, word) : word));
  return [
    el("span", { class: "was" }, part("del", before, has)),
    " → ",
    el("span", { class: "is" }, part("ins", after, had)),
  ];
}

function sides(item) {
  return el(
    "div",
    { class: "columns" },
    item.facts.sides.map(({ id, title }, index) =>
      el(
        "section",
        { class: "side-by-side", data: { side: id } },
        el(
          "p",
          { class: "row quiet" },
          el("kbd", {}, String(index + 1)),
          item.facts.winner === id ? badge("advised", "good") : null,
        ),
        el("p", { class: "said" }, el("a", { href: objectLink(id) }, title)),
      ),
    ),
  );
}

function jobParts(found) {
  if (!found) return null;
  const told = [...found.events].sort((a, b) => a.seq - b.seq).slice(-6);
  return el(
    "section",
    { class: "part" },
    found.prompt
      ? fold(`prompt ${found.job.job_id}`, "What it was told", prose(found.prompt))
      : null,
    el(
      "ol",
      { class: "thread" },
      told.map((event) =>
        el(
          "li",
          { class: `message ${event.kind}`, data: { key: event.seq } },
          el("p", { class: "quiet" }, event.kind.replaceAll("_", " "), " · ", ago(event.ts_ms)),
          event.message ? prose(event.message) : null,
        ),
      ),
    ),
  );
}
