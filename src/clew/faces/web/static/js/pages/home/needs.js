// What waits for a person, the most pressing first, each with the place where it is dealt with.

import { keyText } from "../../conflicts.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, card, nothing } from "../../parts.js";
import { link } from "../../router.js";

// So many of each kind: many questions must not hide the one conflict.
const EACH = 4;

export function needsOf({ proposals, radar, conflicts, contradictions, overdue, blocked }, names) {
  const items = [
    ...(radar?.jobs ?? []).flatMap(jobNeeds),
    ...conflicts.map((item) => ({
      kind: "conflict",
      tone: "bad",
      id: item.conflict_id,
      text: `${keyText(item)}: changed on ${item.from} and on ${item.into}`,
      href: link("know", "cards", "main", "conflicts"),
      all: link("know", "cards", "main", "conflicts"),
      at: item.created_at_ms,
    })),
    ...(contradictions?.blocks ?? []).map((item) => ({
      kind: "contradiction",
      tone: "bad",
      id: item.block_id,
      text: opposed(item.says, names),
      href: link("inbox", "contradictions"),
      all: link("inbox", "contradictions"),
      at: item.ts_ms,
    })),
    ...blocked.map((step) => ({
      kind: "blocked step",
      tone: "bad",
      id: step.task,
      text: `${step.title}: ${step.block_reason ?? "no reason given"}`,
      href: link("now", "board", step.task),
      all: link("now", "board"),
      at: step.updated_at_ms,
    })),
    ...(proposals?.proposals ?? [])
      .filter((item) => item.status === "staged")
      .map((item) => ({
        kind: "proposal",
        tone: "info",
        id: item.proposal_id,
        text: item.says,
        href: link("inbox", "review", item.proposal_id),
        all: link("inbox", "review"),
        at: Date.parse(item.created),
      })),
    ...(overdue?.blocks ?? []).map((item) => ({
      kind: "review overdue",
      tone: "warn",
      id: item.block_id,
      text: `${item.says} (by ${item.review_by})`,
      href: link("o", item.block_id),
      all: link("settings", "health"),
    })),
  ];
  return { items, total: items.length };
}

// "D-1 and D-2 contradict" says little; what they say says it.
function opposed(says, names) {
  const sides = [...new Set(says.match(/D-\d{8}-\d{3,}/g) ?? [])].map((id) => names.get(id) ?? id);
  return sides.length === 2 ? sides.join(" / ") : says;
}

const MARKS = [
  ["has_error", "job error", "bad"],
  ["needs_manager", "job asks", "warn"],
  ["needs_proof", "job needs proof", "warn"],
  ["stale", "job is silent", "bad"],
];

function jobNeeds(job) {
  const mark = MARKS.find(([name]) => job.attention?.[name]);
  if (!mark) return [];
  return [
    {
      kind: mark[1],
      tone: mark[2],
      id: job.job_id,
      text: `${job.title}${job.last?.message ? `: ${job.last.message}` : ""}`,
      href: link("now", "job", job.job_id),
      all: link("now", "job"),
      at: job.updated_at_ms,
    },
  ];
}

export function needsCard({ items, total }) {
  return card(
    "Needs you",
    { id: "needs-you", count: total || undefined },
    total
      ? el(
          "ul",
          { class: "lines", data: { key: "list" } },
          byKind(items).map(([kind, own]) => [
            own.slice(0, EACH).map(row),
            own.length > EACH ? more(kind, own) : null,
          ]),
        )
      : nothing(
          "Nothing waits for you. Proposals, questions of jobs, conflicts, contradictions, overdue reviews and blocked steps would stand here.",
        ),
  );
}

function byKind(items) {
  const kinds = new Map();
  for (const item of items) kinds.set(item.kind, [...(kinds.get(item.kind) ?? []), item]);
  return [...kinds.entries()];
}

function more(kind, own) {
  return el(
    "li",
    {},
    badge(kind, own[0].tone),
    el("a", { class: "what quiet", href: own[0].all }, `and ${own.length - EACH} more`),
  );
}

function row(item) {
  return el(
    "li",
    {},
    badge(item.kind, item.tone),
    el("a", { class: "what", href: item.href, title: item.id }, shorten(item.text, 130)),
    item.at ? ago(item.at) : null,
  );
}
