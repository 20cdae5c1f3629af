// What can be done with a record, by its kind: one table for the panel, the Inbox and Ctrl-K. Each
// action runs the operation that agents call, with the same checks.

import { call } from "../api.js";
import { copy, el } from "../dom.js";
import { askFields } from "../forms.js";
import { notice } from "../notices.js";
import { act, sentence } from "../parts.js";
import { WORK } from "./work-actions.js";

const STANDING = ["decision", "rule", "preference", "fact", "lesson", "rejected"];
const OVER = ["superseded", "revoked", "retracted", "rejected"];

/**
 * @typedef {{name: string, words: string, primary?: boolean, asks?: (view: any) => any[], refuses?: (values: any) => string,
 *   lead?: (view: any) => any, run: (view: any, given: Record<string, string>) => any,
 *   said?: string | ((result: any) => string),
 *   undo?: (view: any, result: any) => any}} Action
 */

/** @returns {Action[]} */
export function actionsOf(view) {
  const own = (TABLE[view.kind] ?? (() => []))(view);
  return [...own, ...(mayRetract(view) ? [RETRACT] : []), COPY];
}

const REASON = { name: "why", words: "Why", required: true, rows: 2 };

const RETRACT = {
  name: "retract",
  words: "Take back",
  asks: () => [
    { ...REASON, words: "Why does it no longer hold?" },
    { name: "instead", words: "What holds instead (an id, may stay empty)" },
  ],
  run: (view, { why, instead }) =>
    call("retract", { id: view.id, why, replaced_by: instead || undefined }),
  // What somebody else wrote is taken back only when a person agrees.
  said: ({ waits_for: proposal }) =>
    proposal ? `Proposed as ${proposal}; it waits in the Inbox` : "Taken back",
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
  ((STANDING.includes(view.kind) && !OVER.includes(view.status)) || RETRACTED.includes(view.kind));

const editFields = (view) => [
  { name: "statement", words: "What it says", value: view.title, required: true, rows: 3 },
  { name: "rationale", words: "Why", value: view.why ?? "", rows: 2 },
];

// An edit is a proposal that waits for somebody, as an agent's would.
const EDIT = {
  name: "edit",
  words: "Propose an edit",
  asks: editFields,
  run: (view, { statement, rationale }) => {
    const changed = [
      ["Statement", view.title, statement],
      ["Rationale", view.why ?? "", rationale],
    ].filter(([, before, after]) => before !== after && after);
    if (!changed.length) throw new Error("Nothing was changed.");
    return call("propose_edit", {
      ops: changed.map(([field, , value]) => ({
        op: "update_field",
        target: view.id,
        field,
        value,
      })),
      rationale: "edited on the page",
    });
  },
  said: "Proposed; it waits in the Inbox",
};

const standing = (view) => (OVER.includes(view.status) ? [] : [EDIT]);

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
          options: ["open", "accepted", "rejected", "resolved", "closed"].map((one) => [one, one]),
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
    ...(view.status === "active"
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

// Runs an action: asks for what it needs, does it, says what came of it. Returns whether it worked.
export async function perform(action, view, button = document.createElement("button")) {
  const given = action.asks
    ? await askFields(
        action.words,
        action.asks(view),
        action.words,
        action.lead?.(view),
        action.refuses,
      )
    : {};
  if (!given) return false;
  const undo = action.undo ? (result) => action.undo(view, result) : null;
  const about = (words) => `${words}: ${sentence(view.title).slice(0, 80)}`;
  const { said } = action;
  const words = typeof said === "function" ? (result) => about(said(result)) : said && about(said);
  return act(button, () => action.run(view, given), words, undo);
}

export const actionBar = (view) => buttonsOf(actionsOf(view), view);

// Some of what can be done, for a place that shows only part of a record.
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
        type: "button",
        class: action.primary ? "primary" : "",
        data: { act: action.name },
        onclick: (event) => perform(action, view, event.currentTarget),
      },
      action.words,
      el("span", { class: "hidden-text" }, ` ${view.title.slice(0, 60)}`),
    ),
  );
