// Steps with their proofs, and the one command that proves a task again.

import { tryCall } from "../api.js";
import { provingCommand } from "../commands.js";
import { ago, copyButton, el } from "../dom.js";
import { badge, command, idLink, prose, recordLink, statusBadge, stepState } from "../parts.js";
import { byWords } from "../people.js";
import { fold } from "../redraw.js";
import { link, objectLink } from "../router.js";

const GRADES = { seen: "good", claimed: "warn" };

export async function taskBody(view) {
  const { id } = view;
  const [found, proofs] = await Promise.all([
    tryCall("tasks_resume", { task: id, read_only: true, events_limit: 0, max_chars: 400_000 }),
    tryCall("tasks_proofs", { task: id, max_chars: 400_000 }),
  ]);
  const steps = found?.steps ?? [];
  return [
    el(
      "section",
      { class: "part", data: { key: "steps" } },
      el("h3", {}, "Steps"),
      steps.length
        ? el(
            "ol",
            { class: "plain" },
            steps.map((step) => stepRow(step, proofs)),
          )
        : el("p", { class: "quiet" }, "No steps yet."),
      el("p", {}, el("a", { href: link("now", "board", id) }, "The whole task")),
    ),
    proofsPart(view),
  ];
}

function stepRow(step, proofs) {
  const proof = (proofs?.steps ?? []).find((item) => item.step_id === step.step_id);
  const status = stepState(step);
  return el(
    "li",
    { data: { key: step.step_id } },
    recordLink({ id: step.step_id, kind: "step", title: step.title }),
    statusBadge(status),
    proof?.state && proof.state !== "none"
      ? badge(proof.state, GRADES[proof.state] ?? "bad")
      : null,
    step.block_reason ? el("p", { class: "quiet" }, step.block_reason) : null,
  );
}

// Every proof with its grade, what it printed, the files it covers and its age; one button copies
// the command that runs them again.
export function proofsPart({ id, kind, proofs = [], proven = [], shown }) {
  const receipts = proofs.slice(0, 12);
  if (!receipts.length) return null;
  const task = kind === "step" ? shown.task : id;
  // Before a step is closed its own receipts say what was run.
  const again = provingCommand(task, proven.length ? proven : receipts.map(proofOf));
  return el(
    "section",
    { class: "part proofs", data: { key: "proofs" } },
    el(
      "header",
      { class: "row" },
      el("h3", {}, "Proofs"),
      again
        ? el("span", { class: "end" }, copyButton(again, "Copy the command that proves it again"))
        : null,
    ),
    el("ol", { class: "plain" }, receipts.map(proofRow)),
  );
}

// What a receipt alone says about proving it again: only what Clew saw can be repeated by it.
const proofOf = ({ id, path, grade, source, command: line }) => ({
  path,
  state: grade,
  repeat: line && source !== "said" ? [id] : [],
  commands: line ? [line] : [],
});

function proofRow(receipt) {
  return el(
    "li",
    { class: "proof", data: { key: receipt.id, grade: receipt.grade } },
    el(
      "p",
      { class: "row" },
      badge(receipt.grade, GRADES[receipt.grade] ?? "bad"),
      receipt.changed?.length
        ? badge(`stale: ${receipt.changed.slice(0, 3).join(", ")} changed since`, "bad")
        : null,
      receipt.command ? el("code", {}, receipt.command) : el("span", {}, receipt.text),
      receipt.exit_code == null
        ? null
        : el("span", { class: "quiet" }, `exit ${receipt.exit_code}`),
    ),
    el(
      "p",
      { class: "quiet" },
      receipt.path ? `${receipt.path} · ` : "",
      receipt.agent ? `${byWords(receipt.agent)} · ` : "",
      ago(receipt.ts_ms),
      receipt.files?.length
        ? ` · covers ${receipt.files.slice(0, 4).join(", ")}${receipt.files.length > 4 ? ` and ${receipt.files.length - 4} more` : ""}`
        : "",
      " · ",
      idLink(receipt.id),
    ),
    receipt.output_tail
      ? fold(
          `output ${receipt.id}`,
          "What it printed",
          el("pre", { class: "text" }, receipt.output_tail),
        )
      : null,
  );
}

export const stepBody = (view) => [notesPart(view.steps?.[0]?.notes ?? []), proofsPart(view)];

function notesPart(notes) {
  if (!notes.length) return null;
  return el(
    "section",
    { class: "part", data: { key: "notes" } },
    el("h3", {}, "Notes"),
    el(
      "ul",
      { class: "plain" },
      notes.map((note) =>
        el(
          "li",
          { data: { key: note.ts_ms } },
          prose(note.text),
          el("p", { class: "quiet" }, note.by ? `${byWords(note.by)} · ` : "", ago(note.ts_ms)),
        ),
      ),
    ),
  );
}

export function planBody({ id, incoming }) {
  const tasks = incoming.filter((item) => item.rel === "part_of");
  return el(
    "section",
    { class: "part", data: { key: "tasks" } },
    el("h3", {}, `Tasks ${tasks.length}`),
    el(
      "ul",
      { class: "plain" },
      tasks.map((item) =>
        el("li", { data: { key: item.id } }, recordLink(item), statusBadge(item.status)),
      ),
    ),
    el("p", {}, el("a", { href: link("now", "board", id) }, "The whole plan")),
  );
}

export function receiptBody({ shown }) {
  const receipt = shown.receipt;
  if (!receipt) return null;
  return el(
    "section",
    { class: "part", data: { key: "output" } },
    receipt.output_tail
      ? [el("h3", {}, "What it printed"), el("pre", { class: "text" }, receipt.output_tail)]
      : null,
    receipt.command && receipt.task
      ? [el("h3", {}, "Prove it again"), command(provingCommand(receipt.task, [proofOf(receipt)]))]
      : null,
    receipt.again
      ? el("p", {}, "It repeats ", el("a", { href: objectLink(receipt.again) }, receipt.again))
      : null,
  );
}
