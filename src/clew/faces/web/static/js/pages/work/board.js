// Plans with how far they are, and their tasks by status.

import { call, tryCall } from "../../api.js";
import { create } from "../../create.js";
import { ago, el, shorten } from "../../dom.js";
import { askFields } from "../../forms.js";
import { badge, callText, head, nothing, several, teach } from "../../parts.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";
import { addStep, askStatus, drag } from "./moves.js";

const COLUMNS = [
  ["TODO", "To do"],
  ["ACTIVE", "In work"],
  ["PARKED", "Parked"],
  ["DONE", "Done"],
  ["CANCELED", "Canceled"],
];
const PAGE = 200,
  PAGES = 4,
  SHOWN = 30;

export async function boardParts() {
  const [found, focus, marks] = await Promise.all([
    readWork(),
    call("tasks_focus_get"),
    readMarks(),
  ]);
  const lead = `${several(found.counts.plans, "plan")} · ${several(found.counts.tasks, "task")}${found.tasks.length < found.counts.tasks ? `, the first ${found.tasks.length} shown` : ""}`;
  if (!found.tasks.length && !found.plans.length)
    return { parts: [head("Work", "", newButtons()), empty()], tasks: [] };
  const plans = new Map(found.plans.map((plan) => [plan.id, plan]));
  const parts = [
    head("Work", lead, newButtons()),
    el("div", { class: "plans", data: { key: "plans", list: "" } }, found.plans.map(planCard)),
    board(found.tasks, plans, focus.focus, marks),
  ];
  return { parts, tasks: found.tasks };
}

// What can be made here; on the page of a plan the task goes under it.
export function newButtons(plan = "") {
  const button = (kind, words, primary) =>
    el(
      "button",
      {
        type: "button",
        class: primary ? "primary" : "",
        data: { make: kind },
        onclick: () => create(kind, plan ? { plan } : {}),
      },
      words,
    );
  return el(
    "div",
    { class: "row" },
    plan ? null : button("plan", "New plan", false),
    button("task", "New task", true),
  );
}

// All plans with as many of the tasks as a person looks through; of one plan, when one is named.
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
  const rest = await Promise.all(
    Array.from({ length: Math.max(0, pages - 1) }, (_, page) => read((page + 1) * PAGE)),
  );
  return { ...found, tasks: [found, ...rest].flatMap(({ tasks }) => tasks) };
}

function planCard(plan) {
  const { tasks_count: count = 0, tasks_done: done = 0 } = plan;
  return el(
    "a",
    { class: "plan card", href: link("now", "board", plan.id), data: { key: plan.id } },
    el("span", { class: "quiet" }, `${plan.id} · ${plan.status.toLowerCase()}`),
    el("strong", {}, shorten(plan.title, 80)),
    el("progress", { max: Math.max(1, count), value: done, "aria-label": "Tasks done" }),
    el("span", { class: "quiet" }, `${done} of ${several(count, "task")} done`),
  );
}

// The columns that hold something, and always those that a task is moved to most.
// Which tasks have steps that are blocked, and closed ones that nobody has seen proven.
export const readMarks = () => tryCall("tasks_marks");

export function board(tasks, plans, focus, marks) {
  const card = (task) => taskCard(task, plans.get(task.parent), task.id === focus, marks);
  const columns = COLUMNS.filter(
    ([status], index) => index < 4 || tasks.some((task) => task.status === status),
  );
  return el(
    "div",
    { class: "board", data: { key: "board", list: "" } },
    columns.map(([status, words]) => {
      const own = tasks.filter((task) => task.status === status);
      return el(
        "section",
        { class: "column", "aria-label": words, data: { key: status, list: "", status } },
        el("h2", {}, words, el("span", { class: "count" }, ` ${own.length}`)),
        own.length ? own.slice(0, SHOWN).map(card) : nothing("None."),
        own.length > SHOWN
          ? fold(`column ${status}`, `${own.length - SHOWN} more`, own.slice(SHOWN).map(card))
          : null,
      );
    }),
  );
}

function taskCard(task, plan, focused, marks) {
  const blocked = marks?.blocked[task.id] ?? 0,
    doubtful = marks?.doubtful[task.id] ?? 0;
  const [done, total] = String(task.progress ?? "0/0")
    .split("/")
    .map(Number);
  return el(
    "article",
    {
      class: "task",
      data: { key: task.id, task: task.id },
      onpointerdown: (event) => drag(event, task),
    },
    el(
      "span",
      { class: "quiet row" },
      el(
        "span",
        {},
        task.id,
        plan ? ` · ${shorten(plan.title, 32)}` : "",
        focused ? [" ", badge("focus", "info")] : null,
      ),
      el(
        "button",
        {
          type: "button",
          class: "menu",
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
    el(
      "span",
      { class: "quiet" },
      total ? `${done}/${total} steps · ` : "",
      ago(task.updated_at_ms),
    ),
    blocked || doubtful
      ? el(
          "span",
          { class: "row" },
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
    "Go on",
  );
  if (given?.what === "move") await askStatus(task);
  if (given?.what === "step") await addStep(task);
  if (given?.what === "open") location.hash = link("now", "board", task.id);
}

function empty() {
  return teach(
    "No task yet",
    "A task has steps, a step has criteria and tests, and it closes only with proof. An agent begins one, or you do:",
    callText("tasks_macro_start", {
      plan_title: "Sell each seat once",
      task_title: "Close the gap",
      steps: [{ title: "Reproduce it", success_criteria: ["A test fails"] }],
    }),
  );
}
