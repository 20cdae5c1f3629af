// Plans with how far they are, and their tasks by status.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, callText, head, nothing, several, teach } from "../../parts.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";

const COLUMNS = [
  ["ACTIVE", "In work"],
  ["TODO", "To do"],
  ["PARKED", "Parked"],
  ["DONE", "Done"],
  ["CANCELED", "Canceled"],
];
const PAGE = 200,
  PAGES = 4,
  SHOWN = 30;

export async function boardParts() {
  const [found, focus] = await Promise.all([readWork(), call("tasks_focus_get")]);
  const lead = `${several(found.counts.plans, "plan")} · ${several(found.counts.tasks, "task")}${found.tasks.length < found.counts.tasks ? `, the first ${found.tasks.length} shown` : ""}`;
  if (!found.tasks.length && !found.plans.length) return [head("Work"), empty()];
  const plans = new Map(found.plans.map((plan) => [plan.id, plan]));
  return [
    head("Work", lead),
    el("div", { class: "plans", data: { key: "plans", list: "" } }, found.plans.map(planCard)),
    board(found.tasks, plans, focus.focus),
  ];
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

// The columns that hold something, and always the first three.
export function board(tasks, plans, focus) {
  const columns = COLUMNS.filter(
    ([status], index) => index < 2 || tasks.some((task) => task.status === status),
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
        own.length
          ? own
              .slice(0, SHOWN)
              .map((task) => taskCard(task, plans.get(task.parent), task.id === focus))
          : nothing("None."),
        own.length > SHOWN
          ? fold(
              `column ${status}`,
              `${own.length - SHOWN} more`,
              own
                .slice(SHOWN)
                .map((task) => taskCard(task, plans.get(task.parent), task.id === focus)),
            )
          : null,
      );
    }),
  );
}

function taskCard(task, plan, focused) {
  const [done, total] = String(task.progress ?? "0/0")
    .split("/")
    .map(Number);
  return el(
    "a",
    { class: "task", href: link("now", "board", task.id), data: { key: task.id } },
    el(
      "span",
      { class: "quiet" },
      task.id,
      plan ? ` · ${shorten(plan.title, 32)}` : "",
      focused ? [" ", badge("focus", "info")] : null,
    ),
    el("strong", {}, shorten(task.title, 90)),
    total ? el("progress", { max: total, value: done, "aria-label": "Steps done" }) : null,
    el(
      "span",
      { class: "quiet" },
      total ? `${done}/${total} steps · ` : "",
      ago(task.updated_at_ms),
    ),
  );
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
