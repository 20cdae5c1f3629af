// Actions on work: plans, tasks, steps and jobs.

import { call } from "../api.js";
import { el } from "../dom.js";
import { STATUS } from "../facts.js";
import { isEnded } from "../lifecycle.js";

/** @type {[string, string][]} */
export const STATUSES = [
  [STATUS.WORK_TODO, "to do"],
  [STATUS.WORK_ACTIVE, "in work"],
  [STATUS.WORK_PARKED, "parked"],
  [STATUS.WORK_DONE, "done"],
  [STATUS.WORK_CANCELED, "canceled"],
];

const named = (view) => (view.kind === "plan" ? { plan: view.id } : { task: view.id });

const EDIT = {
  name: "edit",
  words: "Edit",
  asks: (view) => [
    { name: "title", words: "Title", value: view.shown?.target?.title ?? view.title, required: true },
    {
      name: "description",
      words: "Description",
      value: view.shown?.target?.description ?? "",
      rows: 4,
    },
    { name: "priority", words: "Priority", value: view.shown?.target?.priority ?? "" },
  ],
  run: (view, { title, description, priority }) =>
    call("tasks_edit", {
      ...named(view),
      title,
      description: description || undefined,
      priority: priority || undefined,
    }),
  said: "Changed",
};

const SET_STATUS = {
  name: "status",
  words: "Set status",
  asks: (view) => [{ name: "status", words: "Status", value: view.status, options: STATUSES }],
  run: (view, { status }) => call("tasks_complete", { ...named(view), status }),
  said: "Status set",
};

export const ADD_STEP = {
  name: "add-step",
  words: "Add a step",
  asks: () => [
    { name: "title", words: "What is to be done", required: true },
    { name: "done", words: "Done when", hint: "What must be true then." },
    { name: "test", words: "Test", hint: "A command that proves it; may stay empty." },
  ],
  run: (view, { title, done, test }) =>
    call("tasks_decompose", {
      task: view.id,
      steps: [{ title, success_criteria: [done || title], ...(test ? { tests: [test] } : {}) }],
    }),
  said: "Step added",
};

const at = (view) => ({ task: view.shown.task, step_id: view.id });

// A step closes with a proof, or openly without one: the same rules as for agents.
const CLOSE = {
  name: "close",
  words: "Close",
  primary: true,
  asks: (view) => [
    {
      name: "command",
      words: "Proof: the command that was run",
      value: view.shown.step?.tests?.[0] ?? "",
      hint: "What you say here counts as claimed. A run that Clew saw (clew prove) counts as seen.",
    },
    { name: "exit", words: "Its exit code", kind: "number", value: "0" },
    { name: "output", words: "What it printed", rows: 3 },
    { name: "unproven", words: "Or: why it is closed without proof" },
    { name: "note", words: "Note" },
  ],
  refuses: ({ command, unproven }) =>
    command || unproven ? "" : "Say what was run, or why it is closed without proof.",
  run: (view, { command, exit, output, unproven, note }) =>
    call("close", {
      task: view.shown.task,
      step: view.id,
      note: note || undefined,
      ...(unproven
        ? { unproven }
        : { proof: { command, exit_code: Number(exit || 0), ...(output ? { output } : {}) } }),
    }),
  said: "Closed",
};

const BLOCK = {
  name: "block",
  words: "Block",
  asks: () => [{ name: "reason", words: "What does it wait for?", required: true, rows: 2 }],
  run: (view, { reason }) => call("tasks_block", { ...at(view), blocked: true, reason }),
  said: "Blocked",
};

const UNBLOCK = {
  name: "unblock",
  words: "Unblock",
  primary: true,
  run: (view) => call("tasks_block", { ...at(view), blocked: false }),
  said: "Unblocked",
};

const NOTE = {
  name: "note",
  words: "Add a note",
  final: true,
  asks: () => [{ name: "note", words: "Note", required: true, rows: 3 }],
  run: (view, { note }) => call("tasks_note", { ...at(view), note }),
  said: "Noted",
};

const REQUEUE = {
  name: "requeue",
  final: true,
  words: "Queue again",
  lead: () => el("p.quiet", "This cannot be undone: what it reported at its end is cleared. The thread stays."),
  asks: () => [{ name: "reason", words: "Why", required: true }],
  run: (view, { reason }) => call("tasks_jobs_requeue", { job: view.id, reason }),
  said: "Queued again",
};

export const WORK = {
  plan: () => [SET_STATUS, EDIT],
  task: () => [SET_STATUS, ADD_STEP, EDIT],
  step: (view) =>
    view.status === STATUS.DONE
      ? [NOTE]
      : [STATUS.BLOCKED, STATUS.CANCELED].includes(view.status)
        ? [UNBLOCK, NOTE]
        : [CLOSE, BLOCK, NOTE],
  job: (view) => (isEnded("job", view.status) ? [REQUEUE] : []),
};
