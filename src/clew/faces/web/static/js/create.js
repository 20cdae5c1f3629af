// `c`: write something new, with the operations that agents use.

import { call, recorded } from "./api.js";
import { el } from "./dom.js";
import { askFields } from "./forms.js";
import { dialog } from "./keys.js";
import { icon, kindWord } from "./kinds.js";
import { OPEN_KINDS, STANDING } from "./lifecycle.js";
import { report, undoOf } from "./parts.js";
import { named } from "./people.js";
import { link, objectLink } from "./router.js";

// A decision first: it is what people write most.
const KINDS = [...new Set(["decision", ...STANDING, ...OPEN_KINDS])];

const FORMS = {
  decision: {
    words: "Write a decision, rule or lesson",
    icon: "decision",
    fields: [
      { name: "text", words: "What it says", required: true, rows: 3 },
      { name: "kind", words: "As a", options: KINDS.map((kind) => [kind, kindWord(kind)]) },
      { name: "why", words: "Why", rows: 2 },
    ],
    run: ({ text, kind, why }) => call("remember", { text, kind, why: why || undefined }),
  },
  plan: {
    words: "Make a plan",
    icon: "plan",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "description", words: "What it is for", rows: 3 },
    ],
    run: async ({ title, description }) =>
      (await call("tasks_create", { kind: "plan", title, description: description || undefined })).id,
  },
  task: {
    words: "Start a task",
    icon: "task",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "steps", words: "Steps, one on each line", rows: 4 },
      { name: "plan", words: "Plan (optional)", kind: "record", kinds: ["plan"] },
    ],
    run: async ({ title, steps, plan }) => {
      const lines = steps
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
      const made = await call("start", {
        title,
        steps: lines.length ? lines : undefined,
        plan: plan || undefined,
      });
      return made.task ?? made.task_id ?? made.id;
    },
  },
  note: {
    words: "Write a note",
    undo: null,
    icon: "note",
    fields: [
      { name: "title", words: "Title" },
      { name: "content", words: "Note", required: true, rows: 5 },
    ],
    run: async ({ title, content }) => {
      const { entry } = await call("notes_commit", {
        content,
        title: title || undefined,
        branch: "main",
      });
      return `${entry.doc}@${entry.seq}`;
    },
  },
  job: {
    words: "Create a job",
    undo: null,
    icon: "job",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "prompt", words: "Prompt", required: true, rows: 5 },
      { name: "task", words: "For a task (optional)", kind: "record", kinds: ["task"] },
    ],
    run: async ({ title, prompt, task }) =>
      (await call("tasks_jobs_create", { title, prompt, task: task || undefined })).job.job_id,
  },
};

/**
 * @param {string} [kind] the user is asked if it is missing
 * @param {Record<string, string>} [known] prefilled values
 */
export async function create(kind, known = {}) {
  const chosen = kind ?? (await choose());
  const form = FORMS[chosen];
  if (!form) return;
  const fields = form.fields.map((field) => ({ ...field, value: known[field.name] }));
  const send = async (given) => (await named()) && recorded(() => form.run(given));
  const made = await askFields(form.words, fields, { send, doIt: "Save" });
  if (!made) return;
  const { result, events } = made;
  const id = result?.id ?? result;
  report(answered(result), id, undoOf(id, events, form.undo));
  // A contradiction with something in force is decided where both can be read.
  if (result?.proposal) location.hash = link("inbox", result.proposal);
  else if (id) location.hash = objectLink(id);
}

// A person sees the same response of `remember` as an agent.
function answered(result) {
  if (typeof result === "string" || !result) return "Written";
  const quoted = (list) => list.map(({ text }) => `“${text}”`).join(", ");
  const { state, written, contradicts, repeats, reason } = result;
  if (!written) return "This record already says it";
  if (state === "proposed" && contradicts.length)
    return `Proposed: it contradicts ${quoted(contradicts)}. Decide which holds.`;
  if (state === "proposed") return `Proposed${reason ? `: ${reason}` : ""}`;
  return `Written${repeats.length ? `. It nearly repeats ${quoted(repeats)}` : ""}`;
}

function choose() {
  return new Promise((resolve) => {
    const { box, shut } = dialog(
      "Create",
      "create",
      el(
        "ul.plain.choices",
        Object.entries(FORMS).map(([name, form]) =>
          el(
            "li",
            el(
              "button",
              {
                data: { make: name },
                onclick: () => {
                  shut();
                  resolve(name);
                },
              },
              icon(form.icon),
              " ",
              form.words,
            ),
          ),
        ),
      ),
    );
    /** @type {HTMLElement} */ (box.querySelector("[data-make]")).focus();
  });
}
