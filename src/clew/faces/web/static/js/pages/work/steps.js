// The steps of a task as a tree, each with its checkpoints and its proofs.

import { ago, el, shorten } from "../../dom.js";
import { STATUS } from "../../facts.js";
import { actionButtons } from "../../object/actions.js";
import { badge, nothing, proofBadge, prose, statusBadge, stepState } from "../../parts.js";
import { byWords } from "../../people.js";
import { fold } from "../../redraw.js";
import { objectLink } from "../../router.js";

const GATES = ["criteria", "tests", "security", "perf", "docs"];
const DEEPEST = 5;
const PROOFS = 3,
  NOTES = 2;

/**
 * @param {any[]} steps
 * @param {{evidence: any[], proven: any[], said: any[]}} known what they were proven with, how far, what was noted
 * @param {string} task
 */
export function stepTree(steps, known, task) {
  if (!steps.length) return nothing("No steps yet. A step says what must hold before it counts as done.");
  const of = (items, step) => items.find((item) => item.step_id === step.step_id);
  return el(
    "ol#steps.steps",
    { key: "steps" },
    steps.map((step) =>
      stepRow(step, task, {
        evidence: known.evidence.filter((item) => item.path === step.path),
        proof: of(known.proven, step),
        said: of(known.said, step),
      }),
    ),
  );
}

// The acceptance criteria, unless they only repeat the title.
export const criteriaOf = ({ title, success_criteria: lines = [] }) => lines.filter((line) => line !== title);

const STEP_ACTIONS = ["close", "block", "unblock", "note"];

function stepRow(step, task, { evidence, proof, said }) {
  const depth = Math.min(DEEPEST, step.path.split(".").length - 1);
  const kind = stepState(step);
  // For an open step only a failure is shown; for a closed one its proof.
  const state = step.completed || proof?.state === STATUS.FAILED ? proof?.state : null;
  return el(
    "li",
    { class: `step ${kind}`, key: step.path, data: { depth, path: step.path } },
    el("span.mark", { role: "img", "aria-label": kind }, { done: "✓", blocked: "!", canceled: "×", open: "○" }[kind]),
    el(
      "div.stack.tight.grow",
      stepHead(step, state, said?.held_by),
      step.blocked && !step.completed && step.block_reason
        ? el("p", { class: kind === "blocked" ? "bad" : "quiet" }, step.block_reason)
        : null,
      list("Holds when", criteriaOf(step)),
      list("Checked by", step.tests, true),
      gates(step, state),
      proofList(step, evidence, proof?.state),
      noteList(step, said?.notes ?? []),
      el("div.actions", stepButtons(step, kind, task)),
    ),
  );
}

function stepHead(step, state, holder) {
  return el(
    "p.row",
    el("a.what", { href: objectLink(step.step_id) }, shorten(step.title, 160)),
    el("span.id", step.path),
    [STATUS.BLOCKED, STATUS.CANCELED].includes(stepState(step)) ? statusBadge(stepState(step)) : null,
    proofBadge(state),
    step.completed_at_ms ? el("span.quiet", "closed ", ago(step.completed_at_ms)) : null,
    holder ? el("span.quiet", `held by ${byWords(holder)}`) : null,
  );
}

const stepButtons = (step, kind, task) =>
  actionButtons(
    { id: step.step_id, kind: "step", status: kind, title: step.title, shown: { task, step } },
    STEP_ACTIONS,
  );

// Notes from the work on it and from its close, the newest first.
function noteList(step, notes) {
  if (!notes.length) return null;
  const row = (note) =>
    el(
      "li",
      { key: note.ts_ms },
      prose(note.text),
      el("p.quiet", note.by ? `${byWords(note.by)} · ` : "", ago(note.ts_ms)),
    );
  const shown = notes.slice(0, NOTES).map(row);
  const rest = notes.slice(NOTES).map(row);
  return el(
    "div.step-notes",
    el("ul.plain", shown),
    rest.length
      ? fold(
          `notes ${step.step_id}`,
          `${rest.length} older ${rest.length === 1 ? "note" : "notes"}`,
          el("ul.plain", rest),
        )
      : null,
  );
}

function list(words, items, code) {
  if (!items?.length) return null;
  return el(
    "div.said-list",
    el("span.quiet", words),
    el(
      "ul.checks",
      items.map((item) => el("li", code ? el("code", item) : item)),
    ),
  );
}

// The checkpoints with their confirmation; not shown for a completed step without proof.
function gates(step, state) {
  const has = { criteria: criteriaOf(step).length, tests: step.tests?.length };
  const shown = GATES.filter((gate) => has[gate] || step[`require_${gate}`]);
  if (!shown.length || (step.completed && state !== "proven")) return null;
  return el(
    "p.gates",
    shown.map((gate) => (step[`${gate}_confirmed`] ? badge(`${gate} ✓`, "good") : badge(`${gate} open`))),
  );
}

function proofList(step, proofs, state) {
  if (!proofs.length) return null;
  const rows = proofs.map((item) => proofRow(item, state));
  return el(
    "div.proofs",
    el("ul.plain", rows.slice(0, PROOFS)),
    rows.length > PROOFS
      ? fold(`proofs ${step.step_id}`, `${rows.length - PROOFS} more`, el("ul.plain", rows.slice(PROOFS)))
      : null,
  );
}

// Only a run that Clew recorded is green; a claim is not.
function proofRow(item, state) {
  const tone = state === "proven" ? "good" : "warn";
  const mark = item.stale
    ? badge("stale proof", "bad")
    : item.proves
      ? badge(item.judged ? "proof, files unchanged" : "proof", tone)
      : item.exit_code
        ? badge("failed", "bad")
        : badge("evidence");
  return el(
    "li",
    { class: item.stale ? "stale" : "", data: { evidence: item.id } },
    mark,
    " ",
    el("code", shorten(item.command ?? item.text, 100)),
    item.exit_code === null || item.exit_code === undefined ? "" : el("span.quiet", ` exit ${item.exit_code}`),
    el("span.quiet", " · ", item.agent ? `${item.agent} · ` : "", ago(item.ts_ms)),
    item.stale
      ? el(
          "p.bad",
          `Changed since: ${item.changed.slice(0, 5).join(", ")}${item.changed.length > 5 ? " and more" : ""}`,
        )
      : null,
  );
}
