// The view as Markdown: copied, or saved as a file.

import { call } from "./api.js";
import { copy, el } from "./dom.js";
import { kindWord } from "./kinds.js";
import { notice } from "./notices.js";
import { problemNotice, stepState } from "./parts.js";
import { byWords, isMe } from "./people.js";
import { state } from "./state.js";

const ROOM = 4_000_000;
const who = (agent) => (isMe(agent) ? state.person : byWords(agent));
const date = (at) => (at ? new Date(at).toISOString().slice(0, 10) : "");
const line = (text) =>
  String(text ?? "")
    .replace(/\s*\n\s*/g, " ")
    .trim();
const blocks = (...parts) => `${parts.flat().filter(Boolean).join("\n\n")}\n`;
const list = (items) => items.join("\n");

/**
 * Two buttons for the same text. `build` is called when one is clicked.
 * @param {string} name of the file
 * @param {() => string | Promise<string>} build
 */
export const markdownButtons = (name, build) => {
  const button = (words, act, run) =>
    el(
      "button.small",
      { key: act, data: { act }, onclick: () => Promise.resolve(build()).then(run).catch(problemNotice) },
      words,
    );
  return [
    button("Copy as Markdown", "copy-markdown", async (text) => {
      await copy(text);
      notice("Copied as Markdown");
    }),
    button("Save", "save-markdown", (text) => save(`${name}.md`, text)),
  ];
};

function save(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  const link = el("a", { href, download: name.replace(/[^\w.-]+/g, "-") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  notice(`Saved ${link.download}`);
}

// A record with its reason and links, of a task or plan with what is in it; a session as the server
// exports it, so that it can be imported again.
export async function recordMarkdown(view) {
  if (view.kind === "session")
    return (await call("session_export", { sessionId: view.id, format: "markdown" })).content;
  const facts = [
    `- ${kindWord(view.kind)} ${view.id}, ${view.label || view.status || ""}`.replace(/, $/, ""),
    view.author ? `- by ${who(view.author)}` : "",
    view.changed_ms ? `- ${date(view.changed_ms)}` : "",
  ].filter(Boolean);
  return blocks(
    `# ${line(view.title)}`,
    list(facts),
    view.text && view.text.trim() !== view.title ? view.text.trim() : "",
    view.why ? `**Why:** ${view.why.trim()}` : "",
    await insideOf(view),
    linksMarkdown(view),
  );
}

const insideOf = (view) => ({ task: stepsOf, plan: tasksOf })[view.kind]?.(view) ?? "";

async function stepsOf({ id }) {
  const { steps = [] } = await call("tasks_resume", {
    task: id,
    read_only: true,
    events_limit: 0,
    max_chars: ROOM,
  });
  return list(
    steps.map((step) => {
      const indent = "  ".repeat(step.path.split(".").length - 1);
      const now = stepState(step) === "open" || step.completed ? "" : ` (${stepState(step)})`;
      return `${indent}- [${step.completed ? "x" : " "}] ${line(step.title)}${now}`;
    }),
  );
}

const tasksOf = ({ incoming }) =>
  list(
    incoming
      .filter(({ rel }) => rel === "part_of")
      .map(({ id, title, status }) => `- ${line(title)} (${id}, ${status})`),
  );

function linksMarkdown({ kind, incoming, outgoing }) {
  const shown = ["task", "plan"].includes(kind) ? outgoing : [...outgoing, ...incoming];
  if (!shown.length) return "";
  const rows = shown.map(({ rel, id, title }) => `- ${rel.replaceAll("_", " ")}: ${line(title)} (${id})`);
  return `## Links\n\n${list([...new Set(rows)])}`;
}

export const resultsMarkdown = (query, results) =>
  blocks(
    `# ${line(query)}`,
    list(
      results.map(
        ({ _id: id, excerpt, state: how, status, age }) =>
          `- ${line(excerpt)} (${[id, how || status, age].filter(Boolean).join(", ")})`,
      ),
    ),
  );
