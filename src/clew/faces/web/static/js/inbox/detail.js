// The selected item of the Inbox: the question, who asks, both sides of it, and the default
// outcome.

import { tryCall } from "../api.js";
import { threadPart, threadsOf } from "../comments.js";
import { ago, day, el } from "../dom.js";
import { icon, kindWord } from "../kinds.js";
import { proofsPart } from "../object/work.js";
import { badge, diffView, idTag, prose, recordLink } from "../parts.js";
import { byWords } from "../people.js";
import { fold } from "../redraw.js";
import { objectLink } from "../router.js";
import { conflictNow } from "./conflict.js";
import { fieldChoice } from "./fields.js";
import { changeList, sideCards } from "./sides.js";
import { waysOf } from "./ways.js";

export const KIND_WORDS = {
  job: "question from a job",
  step: "blocked step",
  conflict: "merge conflict",
  contradiction: "contradiction",
  proposal: "proposal",
  fact: "shared fact",
  review: "review due",
  proof: "not proven",
  signal: "captured",
  file: "unreadable file",
};
export const KIND_ICONS = { review: "review", proof: "receipt" };

const decision = async ({ id, until_ms: until }) => ({
  view: until ? null : await tryCall("decision_view", { id, max_chars: 200_000 }),
});
// Data that has to be requested: only for the selected item.
const MORE = {
  proposal: decision,
  contradiction: decision,
  fact: decision,
  review: decision,
  signal: decision,
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
  proof: async ({ id, facts }) => ({
    proofs: await tryCall("record_view", { id, max_chars: 400_000 }),
    task: facts.task,
  }),
};

export async function moreAbout(item) {
  const [more, threads] = await Promise.all([MORE[item.kind]?.(item), threadsOf(item.id)]);
  return { ...more, threads };
}

// Whether something has to be seen before it can be answered.
export const isLooked = (item) => item.kind in MORE;

export function detailParts(item, more, ready) {
  return [
    headPart(item),
    finalWords(item, more),
    sentencePart(item, more),
    el("div.stack", { key: "more" }, ready ? moreParts(item, more) : waiting()),
    threadPart(more.threads ?? []),
    aboutPart(item),
    el("section.part", { key: "otherwise" }, el("h3", "Without a decision"), el("p", item.if_nobody)),
  ];
}

const waiting = () => el("div.skeleton", { "aria-hidden": "true" }, el("i"), el("i"));

function headPart(item) {
  return el(
    "header.record-head",
    { key: "head" },
    el(
      "p.row.quiet",
      el("span.kind", icon(KIND_ICONS[item.kind] ?? item.kind)),
      KIND_WORDS[item.kind] ?? kindWord(item.kind),
      item.risk === "high" ? badge("high risk", "bad") : null,
      el("span.end", idTag(item.id)),
    ),
    el("h2#matter-title.record-title", { tabindex: "-1", dir: "auto" }, item.title),
    el(
      "p.quiet",
      item.by ? [verbOf(item), " ", el("strong", byWords(item.by)), " · "] : "",
      ago(item.ts_ms),
      item.until_ms ? ` · put off until ${day(item.until_ms)}` : "",
      " · ",
      el("a", { href: objectLink(item.id) }, "open the record"),
    ),
  );
}

const verbOf = ({ kind, facts }) => (facts.proposed ? VERBS.proposal : (VERBS[kind] ?? "from"));

const VERBS = {
  job: "asked by",
  step: "blocked by",
  conflict: "merged by",
  contradiction: "written by",
  proposal: "proposed by",
  fact: "shared by",
  review: "written by",
  proof: "closed by",
  signal: "captured by",
};

// The reason why it waits, in one sentence.
function sentencePart(item, { view }) {
  if (item.kind === "contradiction" || view?.cards.some(({ role }) => role === "against"))
    return el("p#against.advice", { key: "note" }, disputeWords(item, view));
  // How it was closed is shown with its proofs.
  if (!item.note || /^(UNPROVEN|CLAIMED): /.test(item.note)) return null;
  return el("div", { key: "note" }, prose(item.note));
}

function disputeWords(item, view) {
  const cards = (view?.cards ?? []).filter(({ role }) => role === "against");
  const known = cards.length
    ? cards.map(({ id, statement, reason }) => ({ id, title: statement, reason }))
    : (item.facts.older ?? []).map((one) => ({ ...one, reason: item.facts.reasons?.[one.id] }));
  return known.map(({ id, title, reason }, index) =>
    el(
      "span",
      { key: id },
      index ? " " : "",
      "Contradicts ",
      el("a", { href: objectLink(id) }, `“${title}”`),
      ". ",
      reasonWords(reason),
    ),
  );
}

// The judgement says `five times against ten times`, or in a sentence why the two cannot both hold.
function reasonWords(reason) {
  const [one, other] = String(reason ?? "").split(" against ");
  if (other && one !== other) return `Differs in: “${one}” / “${other}”.`;
  return other || !reason ? "" : `${reason[0].toUpperCase()}${reason.slice(1)}.`;
}

function aboutPart(item) {
  const shown = ["contradiction", "proposal", "fact", "review"].includes(item.kind);
  const about = item.about.filter(({ kind }) => !shown || kind === "signal");
  if (!about.length) return null;
  return el(
    "section.part",
    { key: "about" },
    el("h3", "What it is about"),
    el(
      "ul.plain",
      about.map((one) => el("li", { key: one.id }, recordLink(one))),
    ),
  );
}

// Warn before an action that cannot be undone.
function finalWords(item, { view }) {
  const final = waysOf(item, view).filter((way) => way.final);
  if (!final.length) return null;
  const words = final.map((way) => `${way.words} (${way.final})`).join("; ");
  return el("p#final.quiet", { key: "final" }, `Cannot be undone: ${words}.`);
}

function moreParts(item, more) {
  if (more.view) return decisionParts(item, more.view);
  if (item.kind === "conflict") return more.conflict ? fieldChoice(item, more.conflict) : null;
  if (item.kind === "job") return jobParts(more.job);
  if (item.kind === "proof") return more.proofs ? proofsPart(more.proofs) : null;
  return null;
}

function decisionParts(item, view) {
  return [
    view.problem ? el("p.problem", { key: "problem" }, view.problem) : null,
    item.advice ? el("p#advice.quiet", { key: "advice" }, `Suggestion: ${item.advice}.`) : null,
    sideCards(view),
    changeList(view),
    view.diff ? fold("raw diff", "Details: the change as text", diffView(view.diff)) : null,
  ];
}

function jobParts(found) {
  if (!found) return null;
  const told = [...found.events].sort((a, b) => a.seq - b.seq).slice(-6);
  return el(
    "section.part",
    found.prompt ? fold(`prompt ${found.job.job_id}`, "What it was asked to do", prose(found.prompt)) : null,
    el(
      "ol.thread",
      told.map((event) =>
        el(
          "li",
          { class: `message ${event.kind}`, key: event.seq },
          el("p.quiet", event.kind.replaceAll("_", " "), " · ", ago(event.ts_ms)),
          event.message ? prose(event.message) : null,
        ),
      ),
    ),
  );
}
