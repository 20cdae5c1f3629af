// Steps with their proofs, and the one command that proves a task again.

import { tryCall } from "../api.js";
import { provingCommand } from "../commands.js";
import { ago, copyButton, el } from "../dom.js";
import {
  badge,
  command,
  idLink,
  proofBadge,
  prose,
  recordLink,
  stateBadges,
  statusBadge,
  stepState,
} from "../parts.js";
import { byWords } from "../people.js";
import { fold } from "../redraw.js";
import { link, objectLink } from "../router.js";

export async function taskBody(view) {
  const { id } = view;
  const [found, proofs] = await Promise.all([
    tryCall("tasks_resume", { task: id, read_only: true, events_limit: 0, max_chars: 400_000 }),
    tryCall("tasks_proofs", { task: id, max_chars: 400_000 }),
  ]);
  const steps = found?.steps ?? [];
  return [
    el(
      "section.part",
      { key: "steps" },
      el("h3", "Steps"),
      steps.length
        ? el(
            "ol.plain",
            steps.map((step) => stepRow(step, proofs)),
          )
        : el("p.quiet", "No steps yet."),
      el("p", el("a", { href: link("now", "board", id) }, "The whole task")),
    ),
    proofsPart(view),
  ];
}

function stepRow(step, proofs) {
  const proof = (proofs?.steps ?? []).find((item) => item.step_id === step.step_id);
  const status = stepState(step);
  return el(
    "li",
    { key: step.step_id },
    recordLink({ id: step.step_id, kind: "step", title: step.title }),
    statusBadge(status),
    proofBadge(proof?.state),
    step.block_reason ? el("p.quiet", step.block_reason) : null,
  );
}

// Every proof with its grade, what it printed, the files it covers and its age; one button copies
// the command that runs them again.
export function proofsPart({ id, kind, proofs = [], proven = [], shown }) {
  const receipts = proofs.slice(0, 12);
  if (!receipts.length) return null;
  const task = kind === "step" ? shown.task : id;
  // Before a step is closed its own receipts list the runs.
  const again = provingCommand(task, proven.length ? proven : receipts.map(proofOf));
  return el(
    "section.part.proofs",
    { key: "proofs" },
    el(
      "header.row",
      el("h3", "Proofs"),
      again ? el("span.end", copyButton(again, "Copy the command that proves it again")) : null,
    ),
    el("ol.plain", receipts.map(proofRow)),
  );
}

// Whether a receipt alone can be proven again: only a run that Clew recorded can be repeated.
const proofOf = ({ id, path, grade, source, command: line }) => ({
  path,
  state: grade,
  repeat: line && source !== "said" ? [id] : [],
  commands: line ? [line] : [],
});

function proofRow(receipt) {
  return el(
    "li.proof",
    { key: receipt.id, data: { grade: receipt.grade } },
    el(
      "p.row",
      proofBadge(receipt.grade),
      receipt.changed?.length ? badge(`stale: ${receipt.changed.slice(0, 3).join(", ")} changed since`, "bad") : null,
      receipt.command ? el("code", receipt.command) : el("span", receipt.text),
      receipt.exit_code == null ? null : el("span.quiet", `exit ${receipt.exit_code}`),
    ),
    el(
      "p.quiet",
      receipt.path ? `${receipt.path} · ` : "",
      receipt.agent ? `${byWords(receipt.agent)} · ` : "",
      ago(receipt.ts_ms),
      receipt.files?.length
        ? ` · covers ${receipt.files.slice(0, 4).join(", ")}${receipt.files.length > 4 ? ` and ${receipt.files.length - 4} more` : ""}`
        : "",
      " · ",
      idLink(receipt.id),
    ),
    receipt.output_tail ? fold(`output ${receipt.id}`, "What it printed", el("pre.text", receipt.output_tail)) : null,
  );
}

export const stepBody = (view) => [notesPart(view.steps?.[0]?.notes ?? []), proofsPart(view)];

function notesPart(notes) {
  if (!notes.length) return null;
  return el(
    "section.part",
    { key: "notes" },
    el("h3", "Notes"),
    el(
      "ul.plain",
      notes.map((note) =>
        el(
          "li",
          { key: note.ts_ms },
          prose(note.text),
          el("p.quiet", note.by ? `${byWords(note.by)} · ` : "", ago(note.ts_ms)),
        ),
      ),
    ),
  );
}

export function planBody({ id, incoming }) {
  const tasks = incoming.filter((item) => item.rel === "part_of");
  return el(
    "section.part",
    { key: "tasks" },
    el("h3", `Tasks ${tasks.length}`),
    el(
      "ul.plain",
      tasks.map((item) => el("li", { key: item.id }, recordLink(item), stateBadges(item))),
    ),
    el("p", el("a", { href: link("now", "board", id) }, "The whole plan")),
  );
}

export function receiptBody({ shown }) {
  const receipt = shown.receipt;
  if (!receipt) return null;
  return el(
    "section.part",
    { key: "output" },
    receipt.output_tail ? [el("h3", "What it printed"), el("pre.text", receipt.output_tail)] : null,
    receipt.command && receipt.task
      ? [el("h3", "Prove it again"), command(provingCommand(receipt.task, [proofOf(receipt)]))]
      : null,
    receipt.again ? el("p", "It repeats ", el("a", { href: objectLink(receipt.again) }, receipt.again)) : null,
  );
}
