// Events in the words of a person: what happened, which group of news it belongs to, where to look
// at it.

import { placeOf, several } from "./parts.js";
import { link } from "./router.js";

// What a person wants to know first comes first. Whatever has no group is only counted.
export const GROUPS = [
  ["decided", "Decided"],
  ["done", "Done"],
  ["clash", "Contradictions and conflicts"],
  ["asks", "Waits for somebody"],
  ["begun", "Begun"],
  ["thought", "Thought"],
];

const LABELS = {
  block_removed: ["decided", "removed"],
  proposal_rejected: ["decided", "was rejected"],
  proposal_rolled_back: ["decided", "was rolled back"],
  graph_conflict_resolved: ["decided", "conflict resolved"],
  graph_conflict_reopened: ["clash", "conflict waits again"],
  fact_reviewed: ["decided", "fact reviewed"],
  step_done: ["done", "step closed"],
  job_completed: ["done", "job done"],
  session_completed: ["done", "session completed"],
  evidence_captured: ["done", "evidence captured"],
  graph_conflict_created: ["clash", "changed on both branches"],
  proposal_staged: ["asks", "proposed"],
  proposal_deferred: ["decided", "put off"],
  proposal_reopened: ["asks", "waits again"],
  step_blocked: ["asks", "step blocked"],
  job_failed: ["asks", "job failed"],
  task_created: ["begun", "task created"],
  plan_created: ["begun", "plan created"],
  job_created: ["begun", "job queued"],
  job_claimed: ["begun", "job taken"],
  session_started: ["begun", "session started"],
  branch_created: ["begun", "branch created"],
  anchor_created: ["begun", "anchor registered"],
  graph_merged: ["decided", "merged"],
  notes_merged: ["decided", "notes merged"],
  graph_applied: ["thought", "cards written"],
  thought_added: ["thought", "thought"],
  thought_revised: ["thought", "revision"],
  thought_branched: ["thought", "new branch"],
  thought_critiqued: ["thought", "critique"],
  note_committed: ["thought", "note"],
  trace_step_added: ["thought", "trace step"],
  card_changed: ["thought", "card changed"],
  card_published: ["thought", "card published"],
};

// `names` knows titles by id. Equal `key`s are shown as one line with a count.
export function describe(event, names) {
  const [group, said] = special(event) ??
    LABELS[event.type] ?? [null, event.type.replaceAll("_", " ")];
  const subject = event.subject ?? "";
  return {
    group,
    said,
    subject,
    text: nameOf(event, names),
    href: whereTo(event),
    key: `${group} ${said} ${subject} ${event.path ?? ""}`,
    event,
  };
}

function special({ type, subject, payload }) {
  if (type === "block_written") return blockWords(subject, payload);
  if (type === "proposal_applied")
    return ["decided", payload?.automatic ? "applied by itself" : "approved"];
  if (type === "matter_put_off")
    return payload?.until_ms ? ["decided", "put off"] : ["asks", "taken up again"];
  if (type === "card_written")
    return payload?.type === "decision"
      ? ["decided", "decision card"]
      : ["thought", `${payload?.type ?? ""} card`.trim()];
  if (type === "task_completed")
    return payload?.status && payload.status !== "DONE"
      ? ["begun", `now ${String(payload.status).toLowerCase()}`]
      : ["done", "finished"];
  if (type === "job_reported")
    return (
      { question: ["asks", "asks"], error: ["asks", "reports an error"] }[payload?.kind] ?? [
        "thought",
        `job reports ${payload?.kind ?? ""}`.trim(),
      ]
    );
  return null;
}

// A block of its own kind of news: decisions are decided, contradictions clash; the rest is
// bookkeeping.
function blockWords(subject, payload) {
  if (/^C-/.test(subject))
    return payload?.status === "open"
      ? ["clash", "contradiction found"]
      : ["decided", "contradiction resolved"];
  if (/^D-/.test(subject))
    return [
      "decided",
      payload?.status === "active" ? "decided" : `now ${payload?.status ?? "changed"}`,
    ];
  if (/^(T|PRJ|PER|TOOL|INC)-/.test(subject)) return ["decided", "remembered"];
  return null;
}

function nameOf({ type, subject, payload, path }, names) {
  const own = payload?.title || names.get(subject) || "";
  if (path) return `${names.get(`${subject} ${path}`) ?? path} · ${own || subject}`;
  if (type === "graph_conflict_created") return String(payload?.key ?? subject);
  if (type === "graph_merged" || type === "notes_merged")
    return `${payload?.from ?? "a branch"} into ${payload?.into ?? subject}`;
  if (type === "graph_applied") return `on ${payload?.branch ?? subject}`;
  return own || subject || "";
}

function whereTo({ type, subject, payload }) {
  if (type.startsWith("graph_conflict")) return placeOf(subject);
  if (type.startsWith("card_") || type === "graph_applied")
    return link("know", "cards", payload?.branch ?? "main");
  if (type.startsWith("branch_")) return link("know", "cards", subject);
  if (type.startsWith("runner_")) return link("now", "job");
  return placeOf(subject);
}

const ANSWERS =
  /^(proposal_(applied|rejected|deferred|rolled_back|reopened)|graph_conflict_resolved|step_(unblocked|done)|job_(messaged|completed|failed|canceled|requeued)|matter_put_off)$/;

// Events come newest first: one that asks is over when a later one about the same matter has been
// met. `ended` keeps the matters that were.
function isAnswered({ group, event, subject }, ended) {
  const matter = `${subject} ${event.path ?? event.payload?.path ?? ""}`;
  const over = (group === "asks" || group === "clash") && ended.has(matter);
  if (ANSWERS.test(event.type)) ended.add(matter);
  return over;
}

// The groups with their lines: the newest first, equal ones counted together, at most `most` lines
// each.
export function grouped(events, names, most) {
  const groups = new Map(GROUPS.map(([name]) => [name, new Map()]));
  const other = new Map();
  const ended = new Set();
  for (const event of events) {
    const line = describe(event, names);
    // What somebody has answered since waits no more, and stands where it was answered.
    if (isAnswered(line, ended)) continue;
    const lines = groups.get(line.group);
    if (!lines) other.set(line.said, (other.get(line.said) ?? 0) + 1);
    else if (lines.has(line.key)) lines.get(line.key).count += 1;
    else lines.set(line.key, { ...line, count: 1 });
  }
  const shown = GROUPS.map(([name, words]) => ({
    name,
    words,
    lines: [...groups.get(name).values()],
  })).filter(({ lines }) => lines.length);
  return {
    groups: shown.map((group) => ({
      ...group,
      more: Math.max(0, group.lines.length - most),
      lines: group.lines.slice(0, most),
    })),
    other,
  };
}

const COUNTED = 1000; // as far as events_list counts what it leaves out

export function olderWords(count) {
  return count
    ? `${count >= COUNTED ? "At least " : ""}${several(count, "older event")} left out.`
    : "";
}
