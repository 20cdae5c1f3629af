// The actions on a record, by its kind: one table for the panel, the Inbox and Ctrl-K. Each
// action runs the operation that agents call, with the same checks.

import { call, recorded } from "../api.js";
import { ASK_FIELDS, ask } from "../comments.js";
import { copy, el } from "../dom.js";
import { STATUS } from "../facts.js";
import { askFields } from "../forms.js";
import { isOver, STANDING } from "../lifecycle.js";
import { notice } from "../notices.js";
import { act, report, sentence, undoOf } from "../parts.js";
import { named } from "../people.js";
import { WORK } from "./work-actions.js";

/**
 * @typedef {{name: string, words: string, primary?: boolean, asks?: (view: any) => any[], refuses?: (values: any) => string,
 *   lead?: (view: any) => any, run: (view: any, given: Record<string, string>) => any,
 *   said?: string | ((result: any) => string), final?: boolean, doIt?: string,
 *   ways?: (problem: any) => {words: string, also: Record<string, any>}[],
 *   undo?: (view: any, result: any) => any}} Action
 */

/** @returns {Action[]} */
export function actionsOf(view) {
  const own = (TABLE[view.kind] ?? (() => []))(view);
  const ends = mayRetract(view) ? [RETRACT] : mayRestore(view) ? [RESTORE] : [];
  return [...own, ...ends, ASK, COPY];
}

const CARD_STATUSES = [STATUS.OPEN, STATUS.ACCEPTED, STATUS.REJECTED, STATUS.RESOLVED, STATUS.CLOSED];
const REASON = { name: "why", words: "Why", required: true, rows: 2 };

const RETRACT = {
  name: "retract",
  words: "Withdraw",
  asks: () => [
    { ...REASON, words: "Why does it no longer hold?" },
    { name: "instead", words: "What holds instead (optional)", kind: "record" },
  ],
  run: (view, { why, instead }) => call("retract", { id: view.id, why, replaced_by: instead || undefined }),
  // Undoing a write of another author requires a person.
  said: ({ waits_for: proposal }) => (proposal ? `Proposed as ${proposal}; it waits in the Inbox` : "Withdrawn"),
};

const ASK = {
  name: "ask",
  words: "Ask the agent",
  final: true,
  asks: () => ASK_FIELDS,
  run: (view, { text }) => ask(view.id, text),
  said: "Asked; the next agent gets it",
};

const COPY = {
  name: "copy",
  words: "Copy link",
  run: async () => {
    await copy(location.href);
    notice("The address is copied");
  },
};

const RETRACTED = ["card", "thought", "step", "task", "plan", "job", "evidence", "anchor"];
const mayRetract = (view) =>
  !view.retraction &&
  ((STANDING.includes(view.kind) && !isOver(view.kind, view.status)) || RETRACTED.includes(view.kind));

// The whole statement, if the title is only its beginning.
const statementOf = (view) => view.shown?.block?.fields?.Statement || view.title;

const editFields = (view) => [
  { name: "statement", words: "What it says", value: statementOf(view), required: true, rows: 3 },
  { name: "rationale", words: "Why", value: view.why ?? "", rows: 2 },
];

// A person's edit applies at once, as `decide` does; the words of others are kept as a version.
const EDIT = {
  name: "edit",
  words: "Edit",
  doIt: "Save",
  asks: editFields,
  run: (view, { statement, rationale, replaces, beside }) => {
    const words = statement === statementOf(view) ? undefined : statement;
    const why = rationale === (view.why ?? "") ? undefined : rationale;
    if (words === undefined && why === undefined) throw new Error("Nothing was changed.");
    return call("edit_record", { id: view.id, statement: words, why, replaces, beside });
  },
  ways: contradictionWays,
  said: "Saved",
};

// Contradictions of an edit are shown before it is saved, with the options that resolve them.
function contradictionWays(problem) {
  const against = problem.envelope?.error?.details?.contradicts ?? [];
  if (!against.length) return [];
  const ids = against.map(({ id }) => id);
  return [
    { words: ids.length > 1 ? "Replace the old ones" : "Replace the old one", also: { replaces: ids } },
    { words: ids.length > 1 ? "All hold" : "Both hold", also: { coexists_with: ids } },
  ];
}

const RESTORE = {
  name: "restore",
  words: "Restore",
  primary: true,
  asks: () => [{ name: "why", words: "Why does it hold again? (optional)" }],
  run: (view, { why }) => call("restore", { id: view.id, why: why || undefined }),
  said: ({ withdrawn = [] }) =>
    withdrawn.length ? `In force again; ${withdrawn.join(", ")} withdrawn` : "In force again",
};

const RESTORED = ["thought", "card", "task", "plan", "step"];
const mayRestore = (view) =>
  STANDING.includes(view.kind)
    ? isOver(view.kind, view.status)
    : RESTORED.includes(view.kind) && view.retraction && !view.retraction.lifted;

const standing = (view) => (isOver(view.kind, view.status) ? [] : [EDIT]);

const TABLE = {
  ...Object.fromEntries(STANDING.map((kind) => [kind, standing])),
  ...WORK,
  card: () => [
    {
      name: "status",
      words: "Set status",
      asks: (view) => [
        {
          name: "status",
          words: "Status",
          value: view.status,
          options: CARD_STATUSES.map((one) => [one, one]),
        },
      ],
      run: (view, { status }) =>
        call("think_set_status", {
          targets: [view.id],
          status,
          ref: view.shown?.head?.branch,
          graph_doc: view.shown?.head?.doc,
        }),
      said: "Status set",
    },
  ],
  session: (view) => [
    {
      name: "rename",
      words: "Rename",
      asks: () => [{ name: "title", words: "Title", value: view.title, required: true }],
      run: ({ id }, { title }) => call("session_update", { sessionId: id, title }),
      said: "Renamed",
    },
    ...(view.status === STATUS.ACTIVE
      ? [
          {
            name: "complete",
            words: "Complete",
            run: ({ id }) => call("session_complete", { sessionId: id }),
            said: "Completed",
          },
        ]
      : []),
  ],
};

// Runs an action: asks for its input, executes it, shows the result. Returns whether it succeeded.
export async function perform(action, view, button = document.createElement("button")) {
  const own = action.undo && ((result) => action.undo(view, result));
  const undo = action.final ? null : own;
  const about = (words) => `${words}: ${sentence(view.title)}`;
  const { said } = action;
  const words = typeof said === "function" ? (result) => about(said(result)) : said && about(said);
  if (!action.asks) return act(button, () => action.run(view, {}), words, undo);
  const send = async (given) => {
    if (!(await named())) return false;
    const { result, events } = await recorded(() => action.run(view, given));
    if (words) report(words, result, undoOf(result, events, undo));
    return true;
  };
  const { refuses, ways, doIt } = action;
  const key = `${action.name} ${view.id}`;
  const lead = action.lead?.(view);
  return Boolean(await askFields(action.words, action.asks(view), { send, lead, refuses, ways, doIt, key }));
}

export const actionBar = (view) => buttonsOf(actionsOf(view), view);

// A subset of the actions, for a place that shows only part of a record.
export const actionButtons = (view, names) =>
  buttonsOf(
    actionsOf(view).filter(({ name }) => names.includes(name)),
    view,
  );

const buttonsOf = (actions, view) =>
  actions.map((action) =>
    el(
      "button",
      {
        class: action.primary ? "primary" : "",
        data: { act: action.name },
        onclick: (event) => perform(action, view, event.currentTarget),
      },
      action.words,
      el("span.hidden-text", ` ${view.title.slice(0, 60)}`),
    ),
  );
