// The ways out of everything that waits, by kind. Keys are the same everywhere: `a` accepts, `r`
// rejects, `e` edits first, `h` puts off, digits choose between sides. Each way is the operation
// that agents call; each says how it is undone.

import { call } from "../api.js";
import { provingCommand } from "../commands.js";
import { copy } from "../dom.js";
import { objectLink } from "../router.js";
import { conflictWays } from "./conflict.js";

/**
 * @typedef {{key: string, name: string, words: string, primary?: boolean, asks?: (item: any) => any[],
 *   run: (item: any, given: Record<string, string>) => any, undo?: (item: any, result: any) => any,
 *   said: string | ((item: any, result: any) => string), stays?: boolean, final?: string}} Way
 */

const REASON = (words, value = "") => [{ name: "reason", words, value, required: true }];

// A change that somebody at the page decided: proposed and approved in one go, so it leaves a
// receipt.
async function decide(ops, rationale) {
  const proposed = await call("propose_edit", { ops, rationale });
  if (proposed.auto_applied) return proposed;
  return call("approve_apply", { proposal_id: proposed.proposal_id, dry_run: false });
}

const rollBack = (_item, done) =>
  call("rollback_proposal", { receipt_ts: done.receipt_ts, merge: true });
const status = (target, value, history) => ({ op: "set_status", target, status: value, history });

async function approveEdited(item, { statement, rationale }) {
  const done = await call("approve_apply", { proposal_id: item.id, dry_run: false });
  const target = done.blocks[0];
  const ops = [
    ["Statement", statement],
    ["Rationale", rationale],
  ]
    .filter(([, value]) => value)
    .map(([field, value]) => ({ op: "update_field", target, field, value }));
  try {
    const edited = await decide(ops, `edited while approving ${item.id}`);
    return { first: done.receipt_ts, second: edited.receipt_ts };
  } catch (problem) {
    await takeBack(item.id, done.receipt_ts);
    throw problem;
  }
}

async function takeBack(id, receipt) {
  await call("rollback_proposal", { receipt_ts: receipt, merge: true });
  await call("reopen_proposal", { proposal_id: id });
}

const proposal = [
  {
    key: "a",
    name: "approve",
    words: "Approve",
    primary: true,
    run: ({ id }) => call("approve_apply", { proposal_id: id, dry_run: false }),
    undo: ({ id }, done) => takeBack(id, done.receipt_ts),
    said: "Approved",
  },
  {
    key: "r",
    name: "reject",
    words: "Reject",
    asks: () => REASON("Why not? It is kept with the proposal.", "Not wanted"),
    run: ({ id }, { reason }) => call("reject_proposal", { proposal_id: id, reason }),
    undo: ({ id }) => call("reopen_proposal", { proposal_id: id }),
    said: "Rejected",
  },
  {
    key: "e",
    name: "edit",
    words: "Edit and approve",
    asks: (item) => [
      {
        name: "statement",
        words: "What it should say",
        value: item.title,
        required: true,
        rows: 3,
      },
      { name: "rationale", words: "Why", value: item.note, rows: 2 },
    ],
    run: approveEdited,
    undo: async ({ id }, { first, second }) => {
      await call("rollback_proposal", { receipt_ts: second, merge: true });
      await takeBack(id, first);
    },
    said: "Approved as edited",
  },
];

const keep = (item, kept) => {
  const [other] = item.facts.sides.filter(({ id }) => id !== kept);
  return decide(
    [status(other.id, "superseded", "settled on the page")],
    `${item.id}: ${item.note}`,
  );
};

const contradiction = (item) => [
  ...(item.facts.winner
    ? [
        {
          key: "a",
          name: "advice",
          words: "Follow the advice",
          primary: true,
          run: () => keep(item, item.facts.winner),
          undo: rollBack,
          said: "Settled as advised",
        },
      ]
    : []),
  ...item.facts.sides.map(({ id, title }, index) => ({
    key: String(index + 1),
    name: `keep-${index + 1}`,
    words: `Keep “${title.slice(0, 48)}”`,
    run: () => keep(item, id),
    undo: rollBack,
    said: `Kept “${title.slice(0, 48)}”`,
  })),
  {
    key: "r",
    name: "no-contradiction",
    words: "This is no contradiction",
    run: () => decide([status(item.id, "resolved")], "both hold"),
    undo: rollBack,
    said: "Both hold",
  },
  {
    key: "0",
    name: "neither",
    words: "Neither holds",
    run: () =>
      decide(
        item.facts.sides.map(({ id }) => status(id, "revoked", "settled on the page")),
        `${item.id}: neither holds`,
      ),
    undo: rollBack,
    said: "Neither holds",
  },
];

const job = [
  {
    key: "a",
    name: "answer",
    words: "Answer",
    primary: true,
    asks: () => [{ name: "message", words: "Your answer", required: true, rows: 3 }],
    run: ({ id }, { message }) => call("tasks_jobs_message", { job: id, message }),
    said: "Answered",
    final: "the runner reads it at once",
  },
  {
    key: "e",
    name: "requeue",
    words: "Queue it again",
    asks: () => REASON("Why is it to begin anew?", "Begin anew"),
    run: ({ id }, { reason }) => call("tasks_jobs_requeue", { job: id, reason }),
    said: "Queued again",
    final: "what it reported at its end is cleared",
  },
  {
    key: "r",
    name: "cancel",
    words: "Cancel the job",
    asks: () => REASON("Why is it not wanted any more?", "Not needed"),
    run: ({ id }, { reason }) => call("retract", { id, why: reason }),
    undo: ({ id }) => call("tasks_jobs_requeue", { job: id, reason: "canceled by mistake" }),
    said: "Canceled",
  },
];

const at = ({ id, facts }) => ({ task: facts.task, step_id: id });

const step = [
  {
    key: "a",
    name: "unblock",
    words: "Unblock",
    primary: true,
    run: (item) => call("tasks_block", { ...at(item), blocked: false }),
    undo: (item) => call("tasks_block", { ...at(item), blocked: true, reason: item.facts.reason }),
    said: "Unblocked",
  },
  {
    key: "e",
    name: "note",
    words: "Add a note",
    stays: true,
    asks: () => [{ name: "note", words: "Note", required: true, rows: 3 }],
    run: (item, { note }) => call("tasks_note", { ...at(item), note }),
    said: "Noted",
  },
];

const fact = [
  {
    key: "a",
    name: "accept",
    words: "Accept",
    primary: true,
    run: ({ id }) => call("review_fact", { fact_id: id, verdict: "accepted" }),
    undo: ({ id }) => decide([status(id, "pending-review")], "review taken back"),
    said: "Accepted",
  },
  {
    key: "r",
    name: "reject",
    words: "Reject",
    asks: () => REASON("Why not?", "Not so"),
    run: ({ id }, { reason }) => call("review_fact", { fact_id: id, verdict: "rejected", reason }),
    undo: ({ id }) => decide([status(id, "pending-review")], "review taken back"),
    said: "Rejected",
  },
];

const HALF_A_YEAR = 182 * 86_400_000;
const inHalfAYear = () => new Date(Date.now() + HALF_A_YEAR).toISOString().slice(0, 10);

const review = [
  {
    key: "a",
    name: "holds",
    words: "It still holds",
    primary: true,
    run: ({ id }) =>
      decide(
        [{ op: "update_field", target: id, field: "ReviewBy", value: inHalfAYear() }],
        "reviewed: it still holds",
      ),
    undo: rollBack,
    said: "Holds, to be reviewed again in half a year",
  },
  {
    key: "r",
    name: "retract",
    words: "It no longer holds",
    asks: () => REASON("Why does it no longer hold?", "Out of date"),
    run: ({ id }, { reason }) => decide([status(id, "revoked", reason)], `reviewed: ${reason}`),
    undo: rollBack,
    said: "Revoked",
  },
];

const signal = [
  {
    key: "a",
    name: "promote",
    words: "Make it a proposal",
    primary: true,
    run: ({ id }) => call("promote_signal", { signal_id: id }),
    said: "Proposed",
    final: "the proposal that it makes can be rejected",
  },
  {
    key: "r",
    name: "dismiss",
    words: "Dismiss",
    run: ({ id }) => decide([status(id, "rejected")], "dismissed on the page"),
    undo: rollBack,
    said: "Dismissed",
  },
];

// A step that nobody has seen proven: the command that proves it, or the step is not done after all.
const proof = ({ facts }) => [
  {
    key: "a",
    name: "again",
    words: provingCommand(facts.task, [facts])
      ? "Copy the command that proves it"
      : "Say what proves it",
    primary: true,
    stays: true,
    ...(provingCommand(facts.task, [facts])
      ? {}
      : {
          asks: () => [
            {
              name: "command",
              words: "The command that shows that it holds",
              hint: "It is copied so that Clew runs it and sees what comes out.",
              required: true,
            },
          ],
        }),
    run: (_item, { command }) =>
      copy(provingCommand(facts.task, [command ? { ...facts, commands: [command] } : facts])),
    said: "Copied, to be run in a terminal",
  },
  {
    key: "r",
    name: "reopen",
    words: "It is not done",
    run: (item) => call("tasks_progress", { ...at(item), completed: false }),
    undo: ({ facts: { task } }) => call("tasks_undo", { task }),
    said: "Open again",
  },
];

const WAYS = {
  proposal,
  contradiction,
  conflict: conflictWays,
  job,
  step,
  fact,
  review,
  signal,
  proof,
};

/** @returns {Way[]} */
export function waysOf(item) {
  const own = WAYS[item.kind] ?? [];
  return typeof own === "function" ? own(item) : own;
}

/** @type {[string, string][]} */
export const DAYS = [
  ["1", "Tomorrow"],
  ["7", "Next week"],
  ["30", "In a month"],
];

// Later, with a day: a proposal is deferred, which agents respect; everything else comes back here.
export function putOff(item, days, why) {
  return item.kind === "proposal"
    ? call("defer_proposal", { proposal_id: item.id, reason: why || "put off", days })
    : call("inbox_later", { id: item.id, kind: item.kind, days, why: why || undefined });
}

export function takeUp(item) {
  return item.kind === "proposal"
    ? call("reopen_proposal", { proposal_id: item.id })
    : call("inbox_later", { id: item.id, kind: item.kind, days: 0 });
}

export const openItem = (item) => {
  location.hash = objectLink(item.id);
};
