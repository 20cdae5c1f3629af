// The actions of a person for each kind of Inbox item. Each action is one operation of the server,
// the one that agents call; its writes are undone by `undo`, unless declared otherwise (`final`,
// `undo`). Keys are the same everywhere: `a` accepts, `r` rejects after asking why, `e` edits
// first, digits choose between sides.

import { call } from "../api.js";
import { provingCommand } from "../commands.js";
import { ASK_FIELDS, ask } from "../comments.js";
import { copy } from "../dom.js";
import { STATUS } from "../facts.js";
import { objectLink } from "../router.js";
import { conflictWays } from "./conflict.js";

/**
 * @typedef {{key: string, name: string, words: string, primary?: boolean, asks?: (item: any) => any[],
 *   run: (item: any, given: Record<string, string>) => any, undo?: (item: any, result: any) => any,
 *   said: string | ((item: any, result: any) => string), stays?: boolean, final?: string, alone?: boolean,
 *   doIt?: string}} Way
 */

const REASON = (words, value = "") => [{ name: "reason", words, value, required: true }];
// A reason that may stay empty.
const WHY = [{ name: "reason", words: "Why (optional)" }];

/** @type {(verdict: string, others?: string[]) => (item: any, given: any) => any} */
const decides =
  (verdict, others) =>
  ({ id }, { reason, statement, why } = {}) =>
    call("decide", {
      id,
      verdict,
      others,
      statement,
      why,
      reason: reason || undefined,
    });

const words = (card) => [
  { name: "statement", words: "What it says", value: card?.statement, required: true, rows: 3 },
  { name: "why", words: "Why", value: card?.why, rows: 3 },
];

// Only changed fields are sent, so that concurrent changes of others are not overwritten.
const edited = (card, { statement, why }) => ({
  statement: statement === card.statement ? undefined : statement,
  why: why === (card.why ?? "") ? undefined : why,
});

const newest = (view) => view?.cards.findLast(({ role }) => role === "new");
const against = (view) => (view?.cards ?? []).filter(({ role }) => role === "against");
const replaced = (view) => (view?.cards ?? []).filter(({ role }) => role === "replaced");

// A record and those that it contradicts. Which one is meant is stated in words, never by position.
function dispute(view) {
  const others = against(view).map(({ id }) => id);
  const many = others.length > 1;
  const card = newest(view);
  return [
    {
      key: "1",
      name: "keep",
      words: many ? "Keep the old ones" : "Keep the old one",
      asks: () => WHY,
      run: decides("keep", others),
      said: "Not in force",
    },
    {
      key: "2",
      name: "replace",
      words: many ? "Replace the old ones" : "Replace the old one",
      run: decides("replace", others),
      said: "Now in force",
    },
    {
      key: "3",
      name: "both",
      words: many ? "All hold" : "Both hold",
      run: decides("both", others),
      said: many ? "All hold" : "Both hold",
    },
    {
      key: "e",
      name: "edit",
      words: "Edit",
      doIt: "Save",
      alone: true,
      asks: () => [
        ...words(card),
        {
          name: "verdict",
          words: "Then",
          options: [
            ["replace", many ? "replace the old ones" : "replace the old one"],
            ["both", many ? "all hold" : "both hold"],
          ],
        },
      ],
      run: (item, given) => decides(given.verdict, others)(item, edited(card, given)),
      said: "Saved as edited",
    },
    {
      key: "0",
      name: "neither",
      words: "Neither holds",
      asks: () => WHY,
      run: decides("neither", others),
      said: "Neither holds",
    },
  ];
}

function proposal(view) {
  const card = newest(view);
  const takesPlace = replaced(view).length > 0;
  const editable = card && !view.changes.length;
  return [
    {
      key: "a",
      name: "approve",
      words: takesPlace ? "Replace the old one" : "Approve",
      primary: true,
      run: decides("approve"),
      said: takesPlace ? "Now in force" : "Approved",
    },
    {
      key: "r",
      name: "reject",
      words: takesPlace ? "Keep the old one" : "Reject",
      asks: () => REASON("Why not? It is kept with the proposal.", "Not wanted"),
      run: decides("reject"),
      said: "Rejected",
    },
    ...(editable
      ? [
          {
            key: "e",
            name: "edit",
            words: "Edit and approve",
            alone: true,
            asks: () => words(card),
            run: (one, given) => decides("approve")(one, edited(card, given)),
            said: "Approved as edited",
          },
        ]
      : []),
  ];
}

const job = [
  {
    key: "a",
    name: "answer",
    words: "Answer",
    primary: true,
    asks: () => [{ name: "message", words: "Your answer", required: true, rows: 3 }],
    run: ({ id }, { message }) => call("tasks_jobs_message", { job: id, message }),
    said: "Answered",
    final: "the runner reads it as soon as it is online",
  },
  {
    key: "e",
    name: "requeue",
    words: "Queue it again",
    asks: () => REASON("Why is it queued again?", "Try again"),
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
    run: ({ id }) => call("review_fact", { fact_id: id, verdict: STATUS.ACCEPTED }),
    said: "Accepted",
  },
  {
    key: "r",
    name: "reject",
    words: "Reject",
    asks: () => REASON("Why not?", "Not so"),
    run: ({ id }, { reason }) => call("review_fact", { fact_id: id, verdict: STATUS.REJECTED, reason }),
    said: "Rejected",
  },
];

const HALF_A_YEAR = 182 * 86_400_000;
const inHalfAYear = () => new Date(Date.now() + HALF_A_YEAR).toISOString().slice(0, 10);

const review = (view) => [
  {
    key: "a",
    name: "holds",
    words: "It still holds",
    primary: true,
    run: ({ id }) => call("edit_record", { id, review_by: inHalfAYear() }),
    said: "Holds; due for review again in half a year",
  },
  {
    key: "r",
    name: "retract",
    words: "It no longer holds",
    asks: () => REASON("Why does it no longer hold?", "Out of date"),
    run: ({ id }, { reason }) => call("edit_record", { id, status: ended(id), reason }),
    said: "Withdrawn",
  },
  ...(newest(view)
    ? [
        {
          key: "e",
          name: "edit",
          words: "Edit",
          doIt: "Save",
          alone: true,
          asks: () => words(newest(view)),
          run: ({ id }, given) => call("edit_record", { id, ...edited(newest(view), given), review_by: inHalfAYear() }),
          said: "Saved; due for review again in half a year",
        },
      ]
    : []),
];

// Decisions and tasks are revoked and canceled, records of other kinds are retracted.
const ended = (id) => (id.startsWith("D-") ? STATUS.REVOKED : STATUS.RETRACTED);

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
    asks: () => WHY,
    run: ({ id }, { reason }) => call("edit_record", { id, status: STATUS.REJECTED, reason: reason || "dismissed" }),
    said: "Dismissed",
  },
];

// A step without proof: the command that proves it, or reopen the step.
const proof = ({ facts }) => [
  {
    key: "a",
    name: "again",
    words: provingCommand(facts.task, [facts]) ? "Copy the command that proves it" : "Say what proves it",
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
    asks: () => REASON("Why is it not done?", "Not proven"),
    run: ({ id }, { reason }) => call("retract", { id, why: reason }),
    said: "Open again",
  },
];

const WAYS = {
  proposal: (_item, view) => (against(view).length ? dispute(view) : proposal(view)),
  contradiction: (_item, view) => (view ? dispute(view) : []),
  conflict: conflictWays,
  job,
  step,
  fact,
  review: (_item, view) => review(view),
  signal,
  proof,
};

/**
 * The available actions. `view` is the result of decision_view; without it (several are selected,
 * or it is still loading) only those that do not require reading the other side.
 * @returns {Way[]}
 */
export function waysOf(item, view = null) {
  const own = WAYS[item.kind] ?? [];
  return [...(typeof own === "function" ? own(item, view) : own), ...(item.until_ms ? [] : [ASK])];
}

const ASK = {
  key: "q",
  name: "ask",
  words: "Ask the agent",
  stays: true,
  alone: true,
  asks: () => ASK_FIELDS,
  run: ({ id }, { text }) => ask(id, text),
  undo: null,
  said: "Asked; the next agent gets it",
};

/** @type {[string, string][]} */
export const DAYS = [
  ["1", "Tomorrow"],
  ["7", "Next week"],
  ["30", "In a month"],
];

// Whether it is a proposal, however it is listed.
const isProposal = ({ id }) => id.startsWith("P-");

// Later, with a day: a proposal is deferred, which agents respect; everything else comes back here.
export function putOff(item, days, why) {
  return isProposal(item)
    ? call("defer_proposal", { proposal_id: item.id, reason: why || "put off", days })
    : call("inbox_later", { id: item.id, kind: item.kind, days, why: why || undefined });
}

export function takeUp(item) {
  return isProposal(item)
    ? call("reopen_proposal", { proposal_id: item.id })
    : call("inbox_later", { id: item.id, kind: item.kind, days: 0 });
}

export const openItem = (item) => {
  location.hash = objectLink(item.id);
};
