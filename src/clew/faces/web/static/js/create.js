// `c`: write something new. What is written goes through the operations that agents use.

import { call } from "./api.js";
import { el } from "./dom.js";
import { askFields } from "./forms.js";
import { dialog } from "./keys.js";
import { icon } from "./kinds.js";
import { notice } from "./notices.js";
import { problemNotice } from "./parts.js";
import { named } from "./people.js";
import { objectLink } from "./router.js";

const KINDS = [
  "decision",
  "rule",
  "preference",
  "fact",
  "lesson",
  "rejected",
  "question",
  "hypothesis",
];

const FORMS = {
  decision: {
    words: "Remember something",
    icon: "decision",
    fields: [
      { name: "text", words: "What holds", required: true, rows: 3 },
      { name: "kind", words: "As a", options: KINDS.map((kind) => [kind, kind]) },
      { name: "why", words: "Why", rows: 2 },
    ],
    run: async ({ text, kind, why }) =>
      (await call("remember", { text, kind, why: why || undefined })).id,
  },
  plan: {
    words: "Make a plan",
    icon: "plan",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "description", words: "What it is for", rows: 3 },
    ],
    run: async ({ title, description }) =>
      (await call("tasks_create", { kind: "plan", title, description: description || undefined }))
        .id,
    undo: (id) => call("tasks_delete", { plan: id }),
  },
  task: {
    words: "Start a task",
    icon: "task",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "steps", words: "Steps, one on each line", rows: 4 },
      { name: "plan", words: "Plan (an id or a title; may stay empty)" },
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
    undo: (id) => call("tasks_delete", { task: id }),
  },
  note: {
    words: "Write a note",
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
    words: "Hand out a job",
    icon: "job",
    fields: [
      { name: "title", words: "Title", required: true },
      { name: "prompt", words: "What the runner is told", required: true, rows: 5 },
      { name: "task", words: "For a task (its id; may stay empty)" },
    ],
    run: async ({ title, prompt, task }) =>
      (await call("tasks_jobs_create", { title, prompt, task: task || undefined })).job.job_id,
  },
};

/**
 * @param {string} [kind] asked for when it is left out
 * @param {Record<string, string>} [known] what is filled in already
 */
export async function create(kind, known = {}) {
  const chosen = kind ?? (await choose());
  const form = FORMS[chosen];
  if (!form) return;
  const fields = form.fields.map((field) => ({ ...field, value: known[field.name] }));
  const given = await askFields(form.words, fields);
  if (!given || !(await named())) return;
  try {
    const id = await form.run(given);
    notice(`Written: ${id ?? form.words}`, "info", id && form.undo ? () => form.undo(id) : null);
    if (id) location.hash = objectLink(id);
  } catch (problem) {
    problemNotice(problem);
  }
}

function choose() {
  return new Promise((resolve) => {
    const { box, shut } = dialog(
      "Create",
      "create",
      el(
        "ul",
        { class: "plain choices" },
        Object.entries(FORMS).map(([name, form]) =>
          el(
            "li",
            {},
            el(
              "button",
              {
                type: "button",
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
