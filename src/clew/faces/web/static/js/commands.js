// Commands to copy. Each names its program, its store and its workspace, so that it does the same
// in any terminal.

import { link, objectLink } from "./router.js";
import { state } from "./state.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const plain = (text) => (/^[\w.:@/+,=-]+$/.test(text) ? text : quoted(text));

// `clew --home HOME --workspace NAME word word`; a flag is a word that begins with --.
export function clewCommand(...words) {
  const where = [...(state.home ? ["--home", state.home] : []), "--workspace", state.workspace];
  return [state.command || "clew", ...where.map(plain), ...words.map((word) => plain(String(word)))].join(" ");
}

// A run proves something only in the project's own directory, so the command begins with `cd`.
function inProject(...commands) {
  const there = state.project && state.workspace === state.own ? [`cd ${plain(state.project)}`] : [];
  return [...there, ...commands].join(" && ");
}

/**
 * The proof of a step from the server: runs that Clew recorded are repeated over the files they
 * covered; a claim or an unproven test is run for the first time under Clew.
 * @typedef {{path: string, state: string, repeat: string[], commands: string[]}} Proof
 * @param {string} task
 * @param {Proof[]} proofs of its closed steps
 * @returns {string} empty if no command is known that would prove any of them
 */
export function provingCommand(task, proofs) {
  const repeated = proofs.filter(({ repeat }) => repeat.length);
  const only = repeated.every(({ state: stands }) => stands === "stale") ? ["--stale"] : [];
  const commands = proofs
    .filter(({ repeat }) => !repeat.length)
    .flatMap(({ path, commands: lines }) =>
      lines.map((line) => clewCommand("prove", "--task", task, "--step", path, line)),
    );
  if (repeated.length) commands.unshift(clewCommand("prove", "--again", ...only, task));
  return commands.length ? inProject(...commands) : "";
}

// A call of an operation as a command line.
export function commandFor(name, params = {}) {
  const shown = Object.entries(params ?? {}).filter(
    ([key, value]) => value !== null && value !== undefined && key !== "workspace",
  );
  const value = (given) => (typeof given === "string" ? given : JSON.stringify(given));
  return [clewCommand("call", name), ...shown.map(([key, given]) => `${key}=${plain(value(given))}`)].join(" ");
}

const PLACES = {
  open: ({ id }) => id && { href: objectLink(id), words: `Open ${id}` },
  list_proposals: () => ({ href: link("inbox"), words: "Show what waits" }),
  list_contradictions: () => ({ href: link("inbox"), words: "Show what waits" }),
  tasks_context: () => ({ href: link("now", "board"), words: "Show all plans and tasks" }),
  tasks_jobs_list: () => ({ href: link("now", "job"), words: "Show all jobs" }),
  session_list: () => ({ href: link("now", "session"), words: "Show all sessions" }),
  list_blocks: () => ({ href: link("know", "lists"), words: "Show all that is remembered" }),
  status: () => ({ href: link("now"), words: "Show what is going on" }),
  branch_list: () => ({ href: link("know", "branches"), words: "Show the branches" }),
};

// Calls that show one record, and the argument that names it.
const SHOWS = {
  tasks_snapshot: ["task", "plan"],
  tasks_resume: ["task", "plan"],
  tasks_radar: ["task", "plan"],
  tasks_jobs_open: ["job"],
  block_history: ["block_id"],
  session_get: ["sessionId"],
  record_view: ["id"],
};

// The page's own equivalent of a suggested call.
export function placeOfCall(name, params) {
  const id = (SHOWS[name] ?? []).map((argument) => params[argument]).find(Boolean);
  return id ? PLACES.open({ id }) : (PLACES[name]?.(params) ?? null);
}
