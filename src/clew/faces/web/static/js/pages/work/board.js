// Plans with their progress, and their tasks by status.

import { call, tryCall } from "../../api.js";
import { create } from "../../create.js";
import { ago, el, shorten } from "../../dom.js";
import { STATUS } from "../../facts.js";
import { askFields } from "../../forms.js";
import { STATUSES } from "../../object/work-actions.js";
import { badge, head, nothing, several, teach } from "../../parts.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";
import { addStep, askStatus, drag } from "./moves.js";

const COLUMNS = [
  [STATUS.WORK_TODO, "To do"],
  [STATUS.WORK_ACTIVE, "In work"],
  [STATUS.WORK_PARKED, "Parked"],
  [STATUS.WORK_DONE, "Done"],
  [STATUS.WORK_CANCELED, "Canceled"],
];
/**
 * The progress of work: the value that was set, else computed from its steps or tasks.
 * @returns {string}
 */
export function statusOf(work) {
  const { status, tasks_count: tasks, tasks_done: ended } = work;
  if (status !== STATUS.WORK_TODO) return status;
  const [done, total] = tasks == null ? counted(work) : [ended ?? 0, tasks];
  if (total && done === total) return STATUS.WORK_DONE;
  return done || work.begun ? STATUS.WORK_ACTIVE : status;
}

const counted = ({ steps_completed: done, steps_count: total }) => [done ?? 0, total ?? 0];

const PAGE = 200,
  PAGES = 4,
  SHOWN = 30;

export async function boardParts() {
  const [found, focus, marks] = await Promise.all([readWork(), call("tasks_focus_get"), readMarks()]);
  const lead = `${several(found.counts.plans, "plan")} · ${several(found.counts.tasks, "task")}${found.tasks.length < found.counts.tasks ? `, the first ${found.tasks.length} shown` : ""}`;
  if (!found.tasks.length && !found.plans.length)
    return { parts: [head("Work", "", newButtons()), empty()], tasks: [] };
  const plans = new Map(found.plans.map((plan) => [plan.id, plan]));
  const parts = [
    head("Work", lead, newButtons()),
    el("div.plans", { key: "plans" }, found.plans.map(planCard)),
    board(found.tasks, plans, focus.focus, marks),
  ];
  return { parts, tasks: found.tasks };
}

// Actions to create something; on the page of a plan the task is added to it.
export function newButtons(plan = "") {
  const button = (kind, words, primary) =>
    el(
      "button",
      { class: primary ? "primary" : "", data: { make: kind }, onclick: () => create(kind, plan ? { plan } : {}) },
      words,
    );
  return el("div.row", plan ? null : button("plan", "New plan", false), button("task", "New task", true));
}

// All plans with a limited number of tasks; of one plan, if one is given.
export async function readWork(plan) {
  const read = (cursor) =>
    call("tasks_context", {
      ...(plan ? { tasks_parent: plan } : {}),
      tasks_limit: PAGE,
      tasks_cursor: cursor,
      plans_limit: cursor ? 0 : 100,
      include_all: true,
      max_chars: 1_000_000,
    });
  const found = await read(0);
  const pages = Math.min(PAGES, Math.ceil(found.counts.tasks / PAGE));
  const rest = await Promise.all(Array.from({ length: Math.max(0, pages - 1) }, (_, page) => read((page + 1) * PAGE)));
  const tasks = [found, ...rest].flatMap((page) => page.tasks);
  const begun = new Set(tasks.filter((task) => statusOf(task) !== STATUS.WORK_TODO).map(({ parent }) => parent));
  return { ...found, tasks, plans: found.plans.map((plan) => ({ ...plan, begun: begun.has(plan.id) })) };
}

export const statusWord = (work) =>
  STATUSES.find(([name]) => name === statusOf(work))?.[1] ?? work.status.toLowerCase();

function planCard(plan) {
  const { tasks_count: count = 0, tasks_done: done = 0 } = plan;
  return el(
    "a.plan.card",
    { href: link("now", "board", plan.id), key: plan.id },
    el("span.quiet", `${plan.id} · ${statusWord(plan)}`),
    el("strong", plan.title === "Inbox" ? "Tasks without a plan" : shorten(plan.title, 80)),
    el("progress", { max: Math.max(1, count), value: done, "aria-label": "Tasks done" }),
    el("span.quiet", `${done} of ${several(count, "task")} done`),
  );
}

// The columns that are not empty, and always those that a task is moved to most.
// Tasks with blocked steps, and with closed steps that are not proven.
export const readMarks = () => tryCall("tasks_marks");

export function board(tasks, plans, focus, marks) {
  const card = (task) => taskCard(task, plans.get(task.parent), task.id === focus, marks);
  const columns = COLUMNS.filter(([status], index) => index < 4 || tasks.some((task) => statusOf(task) === status));
  return el(
    "div.board",
    { key: "board" },
    columns.map(([status, words]) => {
      const own = tasks.filter((task) => statusOf(task) === status);
      return el(
        "section.column",
        { "aria-label": words, key: status, data: { status } },
        el("h2", words, el("span.count", ` ${own.length}`)),
        own.length ? own.slice(0, SHOWN).map(card) : nothing("None."),
        own.length > SHOWN ? fold(`column ${status}`, `${own.length - SHOWN} more`, own.slice(SHOWN).map(card)) : null,
      );
    }),
  );
}

function taskCard(task, plan, focused, marks) {
  const blocked = marks?.blocked[task.id] ?? 0,
    doubtful = marks?.doubtful[task.id] ?? 0;
  const [done, total] = counted(task);
  return el(
    "article.task",
    { key: task.id, data: { task: task.id }, onpointerdown: (event) => drag(event, task) },
    el(
      "span.quiet.row",
      el("span", task.id, plan ? ` · ${planName(plan)}` : "", focused ? [" ", badge("focus", "info")] : null),
      el(
        "button.menu",
        {
          "aria-label": `What to do with ${task.id} ${task.title.slice(0, 80)}`,
          title: "Move it, add a step",
          data: { act: "menu" },
          onclick: () => menu(task),
        },
        "⋯",
      ),
    ),
    el(
      "a",
      { href: link("now", "board", task.id), draggable: "false", data: { act: "open" } },
      shorten(task.title, 90),
    ),
    total
      ? el("progress", {
          max: total,
          value: done,
          class: doubtful ? "doubtful" : "",
          "aria-label": doubtful ? `Steps done, ${doubtful} not proven` : "Steps done",
        })
      : null,
    el("span.quiet", total ? `${done}/${total} steps · ` : "", ago(task.updated_at_ms)),
    blocked || doubtful
      ? el(
          "span.row",
          blocked ? badge(`${blocked} blocked`, "bad") : null,
          doubtful ? badge(`${doubtful} of ${done} not proven`, "warn") : null,
        )
      : null,
  );
}

async function menu(task) {
  const given = await askFields(
    shorten(task.title, 60),
    [
      {
        name: "what",
        words: "What is to be done",
        options: [
          ["move", "Set its status"],
          ["step", "Add a step"],
          ["open", "Open it"],
        ],
      },
    ],
    { doIt: "Go on" },
  );
  if (given?.what === "move") await askStatus(task);
  if (given?.what === "step") await addStep(task);
  if (given?.what === "open") location.hash = link("now", "board", task.id);
}

// Tasks that were started without a plan are kept in one of their own.
export const planName = ({ title }) => (title === "Inbox" ? "without a plan" : shorten(title, 32));

const empty = () =>
  teach(
    "No tasks yet",
    "A task has steps, and a step closes with proof. An agent starts one, or you do with New task.",
  );
