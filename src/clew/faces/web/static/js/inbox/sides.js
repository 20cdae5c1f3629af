// The sides of a decision as cards side by side: the text of each record with its reason, author
// and time, the task it came from, what depends on it, and how that work was last proven.

import { changed, marked } from "../differences.js";
import { ago, el } from "../dom.js";
import { STATUS } from "../facts.js";
import { icon, kindWord } from "../kinds.js";
import { idTag, proofBadge, prose, recordLink, several } from "../parts.js";
import { byWords } from "../people.js";
import { fold } from "../redraw.js";
import { objectLink } from "../router.js";

const SHOWN = 3;

export function sideCards(view) {
  const newer = view.cards.findLast(({ role }) => role === "new");
  const others = view.cards.filter((card) => card !== newer);
  if (!newer) return null;
  const [first] = others;
  const [, inNewer] = first ? marked(first.statement, newer.statement) : [null, [newer.statement]];
  return el(
    "div#sides.sides",
    { key: "sides" },
    others.map((card) => sideCard(card, marked(card.statement, newer.statement)[0])),
    sideCard(newer, inNewer, others.length > 0),
  );
}

function sideCard(card, statement, isNewer = false) {
  return el(
    "section.decision-side",
    { "aria-label": headWords(card, isNewer), key: card.id, data: { side: card.role, record: card.id } },
    el(
      "header.row",
      el("strong", headWords(card, isNewer)),
      el("span.quiet.row.tight", el("span.kind", icon(card.kind)), kindWord(card.kind)),
      el("span.end", idTag(card.id)),
    ),
    el("p.said", { dir: "auto" }, card.status ? el("a", { href: objectLink(card.id) }, statement) : statement),
    el("dl.facts", facts(card)),
  );
}

function headWords(card, isNewer) {
  if (card.role === "replaced") return "Would be replaced";
  if (card.role === "against") return "In force";
  if (card.status === STATUS.ACTIVE) return isNewer ? "In force, newer" : "In force";
  return { [STATUS.PENDING_REVIEW]: "Shared, not reviewed", [STATUS.PENDING]: "Captured" }[card.status] ?? "Proposed";
}

function facts(card) {
  const rows = [
    ["Why", card.why ? prose(card.why) : el("span.quiet", "no reason was given")],
    ["By", [el("strong", byWords(card.author)), card.created_ms ? [" · ", ago(card.created_ms)] : ""]],
    ["Changed", card.changed_ms ? ago(card.changed_ms) : ""],
    ["About", card.about],
    ["Task", card.task ? recordLink(card.task) : ""],
    ["Last proof", card.proof ? proofWords(card.proof) : card.task ? "none" : ""],
    ["Rests on", card.rests_on.map((record) => recordLink(record))],
    ["What rests on it", resting(card)],
    ["Review by", card.review_by],
  ];
  return rows
    .filter(([, value]) => value && (!Array.isArray(value) || value.length))
    .flatMap(([name, value]) => [el("dt", name), el("dd", value)]);
}

function resting({ id, resting: { total, items } }) {
  if (!total) return "nothing";
  const link = (record) => el("li", { key: record.id }, recordLink(record));
  const list = (records) => el("ul.plain.tight", records.map(link));
  return [
    list(items.slice(0, SHOWN)),
    items.length > SHOWN
      ? fold(`resting ${id}`, `${several(total - SHOWN, "more record")}`, list(items.slice(SHOWN)))
      : null,
  ];
}

function proofWords(proof) {
  return [
    proofBadge(proof.state),
    " ",
    proof.command ? el("code", proof.command) : "",
    " ",
    proof.ts_ms ? ago(proof.ts_ms) : "",
    proof.changed.length ? el("span.quiet", ` · ${several(proof.changed.length, "file")} changed since`) : "",
  ];
}

// The changes of an edit, field by field.
export function changeList({ changes = [] }) {
  if (!changes.length) return null;
  const many = new Set(changes.map(({ id }) => id)).size > 1;
  return el(
    "dl#changes.facts.changes",
    { key: "changes" },
    changes.flatMap(({ id, field, before, after }) => [
      el("dt", many ? `${id} · ${field}` : field),
      el("dd", before && after ? changed(before, after) : after ? el("ins", after) : el("del", before)),
    ]),
  );
}
