// The facts of a record as a short list: the fields of its store that are not shown above.

import { ago, el } from "../dom.js";
import { badge, idLink, proofBadge } from "../parts.js";
import { byWords } from "../people.js";
import { link } from "../router.js";

// Already shown above, or of no use to a reader.
const HIDDEN = new Set(
  (
    "Date Status Statement Title Text Rationale Excerpt Ops Fingerprint ProposalId Rollback Created ContentHash Snapshot" +
    " Diff Sources Signal Evidence RollbackPlan Objects Author History Digest Type ProposedBy FilesTouched Receipt Priority"
  ).split(" "),
);
const WORDS = {
  TargetBlock: "Would change",
  DeferredUntil: "Put off until",
  ApprovedBy: "Approved by",
  Supersedes: "Replaces",
  SupersededBy: "Replaced by",
};

export function factsOf(view) {
  const rows = (READERS[view.kind] ?? blockFacts)(view).filter(([, value]) => !isEmpty(value));
  if (!rows.length) return null;
  return el(
    "dl.facts",
    { key: "facts" },
    rows.flatMap(([name, value]) => [el("dt", name), el("dd", value)]),
  );
}

const isEmpty = (value) =>
  value === null ||
  value === undefined ||
  value === "" ||
  value === false ||
  (Array.isArray(value) && !value.length) ||
  ["none", "untagged", "global"].includes(value);

function blockFacts({ shown, incoming, outgoing, chain }) {
  const fields = shown?.block?.fields ?? {};
  const others = new Set([...incoming, ...outgoing, ...chain].map(({ id }) => id));
  // Fields that only name records are omitted if the links or the chain show these by their titles.
  const isLinked = (value) =>
    [value].flat().every((part) =>
      String(part)
        .split(", ")
        .every((id) => others.has(id)),
    );
  const file = shown?.block?.file;
  return [
    ...Object.entries(fields)
      .filter(([name, value]) => !HIDDEN.has(name) && !isLinked(value))
      .map(([name, value]) => [WORDS[name] ?? name, isEmpty(value) ? "" : linked(value)]),
    ["File", file ? `${file}${shown.block.line ? `:${shown.block.line}` : ""}` : ""],
    ["Review", shown?.block?.review_overdue ? badge(`was due ${shown.block.review_overdue}`, "warn") : ""],
  ];
}

// Ids within a value become links.
const ID =
  /\b[A-Z]{1,4}-\d{8}-\d{3,}\b|\b(?:TASK|PLAN|JOB|CARD|RCPT)-\d+\b|\b(?:[RUXLF]|EV)-\d+\b|\bSTEP-[0-9A-F]{8,}\b/g;
function linked(value) {
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(ID)) {
    parts.push(text.slice(at, match.index), idLink(match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

const READERS = {
  task: work,
  plan: work,
  step: ({ shown }) => [
    ["Done when", list(shown.step?.success_criteria)],
    ["Tests", list(shown.step?.tests)],
    ["Blocked by", list(shown.step?.blockers)],
    ["Because", shown.step?.block_reason],
    ["Next", shown.step?.next_action],
    ["Still missing", list(shown.gate?.missing)],
    ["Held by", shown.lease ? byWords(shown.lease.holder_agent_id) : ""],
  ],
  card: ({ shown }) => [
    ["Branch", shown.head?.branch],
    ["Tags", tags(shown.card?.tags)],
  ],
  note: ({ shown }) => [
    ["Branch", shown.entry?.branch],
    ["Document", shown.entry?.doc],
  ],
  thought: ({ shown }) => [
    ["Session", shown.session ? idNamed(shown.session.id, shown.session.title) : ""],
    ["Number", shown.thought?.thoughtNumber],
    ["Branch", shown.thought?.branchId],
  ],
  session: ({ shown }) => [
    ["Thoughts", shown.session?.thoughtCount],
    ["Branches", shown.session?.branchCount || ""],
    ["Tags", tags(shown.session?.tags)],
  ],
  job: ({ shown }) => [
    ["Kind", shown.job?.kind],
    ["Priority", shown.job?.priority?.toLowerCase()],
    ["Runner", shown.job?.runner],
    ["For", shown.job?.task ? idLink(shown.job.task) : ""],
    ["Claim ends", shown.job?.claim_expires_at_ms ? ago(shown.job.claim_expires_at_ms) : ""],
    ["Summary", shown.job?.summary],
  ],
  anchor: ({ id, shown }) => [
    ["Kind", shown.anchor?.kind],
    ["Part of", shown.anchor?.parent_id ? idLink(shown.anchor.parent_id) : ""],
    ["Depends on", (shown.anchor?.depends_on ?? []).map((id) => [idLink(id), " "])],
    ["Files", list(shown.anchor?.refs)],
    ["Also called", list(shown.anchor?.aliases)],
    ["Known", el("a", { href: link("know", "lists", { area: id }), data: { records: id } }, "Its records")],
  ],
  receipt: (view) => (view.shown?.receipt ? proof(view.shown.receipt) : blockFacts(view)),
  evidence: ({ shown }) => [
    ["Command", shown.evidence?.command],
    ["Exit code", shown.evidence?.exit_code ?? ""],
  ],
};

function work({ shown }) {
  const target = shown.target ?? {};
  return [
    ["Plan", target.parent ? idLink(target.parent) : ""],
    ["Progress", target.steps_count ? `${target.steps_completed}/${target.steps_count}` : target.plan_progress],
    ["Priority", target.priority?.toLowerCase?.()],
    ["Assigned to", target.assignee],
    ["Tags", tags(target.tags)],
    ["Waits for", (target.depends_on ?? []).map((id) => [idLink(id), " "])],
    ["Mode", target.reasoning_mode !== "normal" ? target.reasoning_mode : ""],
  ];
}

function proof(receipt) {
  return [
    ["Grade", proofBadge(receipt.grade)],
    ["Command", receipt.command ? el("code", receipt.command) : ""],
    ["Exit code", receipt.exit_code ?? ""],
    ["Took", receipt.duration_ms ? `${(receipt.duration_ms / 1000).toFixed(1)} s` : ""],
    ["Seen by", receipt.source === "said" ? "not seen: reported by its author" : receipt.source],
    [
      "Commit",
      receipt.git_commit ? `${receipt.git_commit.slice(0, 10)}${receipt.git_dirty ? " with changes" : ""}` : "",
    ],
    ["Covers", list(receipt.files?.slice(0, 20))],
    ["Row", receipt.intact === false ? badge("was changed after it was written", "bad") : ""],
  ];
}

const list = (items) => (items?.length ? items.join("; ") : "");
const tags = (items) => (items ?? []).filter((tag) => tag !== "untagged").map((tag) => [badge(tag), " "]);
const idNamed = (id, words) => el("a", { href: idLink(id).getAttribute("href") }, words);
