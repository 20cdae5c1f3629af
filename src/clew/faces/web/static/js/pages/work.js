// Plans and tasks as a board; one task with its steps, gates, proofs, next action and timeline.

import { ago, copyButton, el, replace, shorten } from "../dom.js";
import { call, envelope, knows } from "../api.js";
import { feed } from "../socket.js";
import { link } from "../router.js";

const COLUMNS = ["ACTIVE", "TODO", "PARKED", "DONE", "CANCELED"];
const GATES = ["criteria", "tests", "security", "perf", "docs"];

export async function show(main, [id]) {
  if (!knows("tasks_context")) return void replace(main, el("section", { class: "empty" }, el("p", {}, "This Clew keeps no tasks.")));
  const draw = () => (id ? drawTask(main, id) : drawBoard(main));
  await draw();
  let waiting = 0;
  return feed.on("events", (event, data) => {
    if (data.topic !== "tasks") return;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
}

async function drawBoard(main) {
  const found = await call("tasks_context", { tasks_limit: 200, plans_limit: 50, include_all: true, max_chars: 1_000_000 });
  const plans = new Map(found.plans.map((plan) => [plan.id, plan]));
  const columns = COLUMNS.map((status) => {
    const tasks = found.tasks.filter((task) => task.status === status);
    return el("section", { class: "column", "aria-label": status }, el("h2", {}, `${status.toLowerCase()} `, el("span", { class: "quiet" }, tasks.length)),
      tasks.map((task) => taskCard(task, plans.get(task.parent))));
  });
  replace(main, el("div", { class: "page" }, el("h1", {}, "Work"),
    el("p", { class: "quiet" }, `${found.counts.plans} plans · ${found.counts.tasks} tasks`),
    found.tasks.length ? el("div", { class: "board" }, columns) : el("p", {}, "No task yet: tasks_macro_start begins one."),
    found.plans.length ? el("section", { class: "card" }, el("h2", {}, "Plans"), el("ul", { class: "plain" }, found.plans.map(planRow))) : null));
}

function taskCard(task, plan) {
  return el("a", { class: "task", href: link("work", task.id) }, el("span", { class: "quiet" }, task.id, plan ? ` · ${shorten(plan.title, 30)}` : ""),
    el("strong", {}, shorten(task.title, 90)), progress(task.progress), el("span", { class: "quiet" }, ago(task.updated_at_ms)));
}

function planRow(plan) {
  return el("li", {}, el("a", { href: link("work", plan.id) }, plan.id), ` ${shorten(plan.title, 80)} `, el("span", { class: "quiet" }, `${plan.status} · ${plan.plan_progress}`));
}

function progress(text) {
  const [done, total] = String(text ?? "0/0").split("/").map(Number);
  return total ? el("progress", { max: total, value: done, title: text }, text) : null;
}

async function drawTask(main, id) {
  const named = id.startsWith("PLAN-") ? { plan: id } : { task: id };
  const found = await call("tasks_resume", { ...named, read_only: true, events_limit: 30 });
  const next = knows("tasks_snapshot") ? await envelope("tasks_snapshot", { ...named, read_only: true }).catch(() => null) : null;
  const target = found.target;
  replace(main, el("div", { class: "page split" },
    el("section", {}, el("p", {}, el("a", { href: link("work") }, "← Work")), el("h1", {}, `${target.id} ${shorten(target.title, 140)}`),
      el("p", { class: "quiet" }, `${target.status} · revision ${target.revision}${target.reasoning_mode ? ` · ${target.reasoning_mode}` : ""} · `, ago(target.updated_at_ms)),
      target.description ? el("pre", { class: "text" }, target.description) : null, nextAction(next),
      found.steps?.length ? el("ol", { class: "steps", id: "steps" }, found.steps.map(stepRow)) : el("p", { class: "quiet" }, "No steps."),
      id.startsWith("TASK-") ? el("p", {}, el("a", { href: link("cards", id) }, "Cards of this task")) : null),
    el("aside", { class: "lens" }, el("h2", {}, "Timeline"), timeline(found.timeline?.events ?? []))));
}

function nextAction(answer) {
  if (!answer?.lines?.length) return null;
  const [state, ...commands] = answer.lines;
  return el("section", { class: "card next", id: "next" }, el("h2", {}, "Next"), el("p", {}, state),
    commands.map((command) => el("p", { class: "command" }, el("code", {}, command), " ", copyButton(command))));
}

function stepRow(step) {
  const depth = step.path.split(".").length - 1;
  return el("li", { class: step.completed ? "done" : step.blocked ? "blocked" : "", data: { depth, path: step.path } },
    el("span", { class: "mark", "aria-label": step.completed ? "done" : "open" }, step.completed ? "✓" : "○"),
    el("div", {}, el("strong", {}, shorten(step.title, 160)), " ", el("span", { class: "quiet" }, step.path),
      el("p", { class: "gates" }, GATES.filter((gate) => step[`${gate}_confirmed`] || gate === "criteria" || gate === "tests" || step[`require_${gate}`]).map((gate) =>
        el("span", { class: `gate ${step[`${gate}_confirmed`] ? "good" : "open"}` }, `${gate} ${step[`${gate}_confirmed`] ? "✓" : "–"}`)),
      (step.stale_proofs ?? []).length ? el("span", { class: "gate bad" }, "proof stale") : null),
      step.blocked ? el("p", { class: "bad" }, `blocked: ${step.block_reason ?? ""}`) : null,
      step.success_criteria?.length ? el("ul", { class: "plain quiet" }, step.success_criteria.map((line) => el("li", {}, line))) : null));
}

function timeline(events) {
  if (!events.length) return el("p", { class: "quiet" }, "Nothing yet.");
  return el("ol", { class: "log" }, events.map((event) => el("li", {}, ago(event.ts_ms), " ", el("strong", {}, event.type), event.path ? ` ${event.path}` : "")));
}

