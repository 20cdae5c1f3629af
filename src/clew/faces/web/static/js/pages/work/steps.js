// The steps of a task as a tree, each with its checkpoints and its proofs.

import { ago, el, shorten } from "../../dom.js";
import { actionButtons } from "../../object/actions.js";
import { badge, callText, teach } from "../../parts.js";
import { fold } from "../../redraw.js";

const GATES = ["criteria", "tests", "security", "perf", "docs"];
const DEEPEST = 5;
const PROOFS = 3;

export function stepTree(steps, evidence, task) {
  if (!steps.length)
    return teach(
      "No steps yet",
      "A step says what must hold before it counts as done.",
      callText("tasks_decompose", {
        steps: [{ title: "Measure it", success_criteria: ["The numbers are written down"] }],
      }),
    );
  return el(
    "ol",
    { class: "steps", id: "steps", data: { key: "steps", list: "" } },
    steps.map((step) =>
      stepRow(
        step,
        evidence.filter((item) => item.path === step.path),
        task,
      ),
    ),
  );
}

const STEP_ACTIONS = ["close", "block", "unblock", "note"];

function stepRow(step, proofs, task) {
  const depth = Math.min(DEEPEST, step.path.split(".").length - 1);
  const kind = step.completed ? "done" : step.blocked ? "blocked" : "open";
  return el(
    "li",
    { class: `step ${kind}`, data: { key: step.path, depth, path: step.path } },
    el(
      "span",
      { class: "mark", role: "img", "aria-label": kind },
      { done: "✓", blocked: "!", open: "○" }[kind],
    ),
    el(
      "div",
      { class: "stack tight grow" },
      el(
        "p",
        { class: "row" },
        el("strong", {}, shorten(step.title, 160)),
        el("span", { class: "id" }, step.path),
        step.blocked && !step.completed ? badge("blocked", "bad") : null,
        step.completed_at_ms
          ? el("span", { class: "quiet" }, "closed ", ago(step.completed_at_ms))
          : null,
      ),
      step.blocked && !step.completed && step.block_reason
        ? el("p", { class: "bad" }, step.block_reason)
        : null,
      list("Holds when", step.success_criteria),
      list("Checked by", step.tests, true),
      el("p", { class: "gates" }, gates(step)),
      proofList(step, proofs),
      el(
        "div",
        { class: "actions" },
        actionButtons(
          {
            id: step.step_id,
            kind: "step",
            status: kind,
            title: step.title,
            shown: { task, step },
          },
          STEP_ACTIONS,
        ),
      ),
    ),
  );
}

function list(words, items, code) {
  if (!items?.length) return null;
  return el(
    "div",
    { class: "said-list" },
    el("span", { class: "quiet" }, words),
    el(
      "ul",
      { class: "checks" },
      items.map((item) => el("li", {}, code ? el("code", {}, item) : item)),
    ),
  );
}

function gates(step) {
  const shown = GATES.filter(
    (gate) =>
      step[`${gate}_confirmed`] ||
      gate === "criteria" ||
      gate === "tests" ||
      step[`require_${gate}`],
  );
  return shown.map((gate) =>
    step[`${gate}_confirmed`] ? badge(`${gate} ✓`, "good") : badge(`${gate} open`),
  );
}

function proofList(step, proofs) {
  if (!proofs.length) return null;
  const rows = proofs.map(proofRow);
  return el(
    "div",
    { class: "proofs" },
    el("ul", { class: "plain" }, rows.slice(0, PROOFS)),
    rows.length > PROOFS
      ? fold(
          `proofs ${step.step_id}`,
          `${rows.length - PROOFS} more`,
          el("ul", { class: "plain" }, rows.slice(PROOFS)),
        )
      : null,
  );
}

function proofRow(item) {
  const mark = item.stale
    ? badge("stale proof", "bad")
    : item.proves
      ? badge(item.judged ? "proof, files unchanged" : "proof", "good")
      : badge("evidence");
  return el(
    "li",
    { class: item.stale ? "stale" : "", data: { evidence: item.id } },
    mark,
    " ",
    el("code", {}, shorten(item.command ?? item.text, 100)),
    item.exit_code === null || item.exit_code === undefined
      ? ""
      : el("span", { class: "quiet" }, ` exit ${item.exit_code}`),
    el("span", { class: "quiet" }, " · ", item.agent ? `${item.agent} · ` : "", ago(item.ts_ms)),
    item.stale
      ? el(
          "p",
          { class: "bad" },
          `Changed since: ${item.changed.slice(0, 5).join(", ")}${item.changed.length > 5 ? " and more" : ""}`,
        )
      : null,
  );
}
