// What every page is made of: heads, cards, badges, commands to copy, empty states that teach,
// problems in plain words.

import { commandFor, placeOfCall } from "./commands.js";
import { copy, copyButton, el, shorten } from "./dom.js";
import { icon, kindWord } from "./kinds.js";
import { notice } from "./notices.js";
import { named } from "./people.js";
import { objectLink } from "./router.js";

// The title of the page; what waits in the Inbox stands before it, so that a tab shows it.
export function title(...words) {
  titled = [...words, "Clew"].join(" · ");
  countInTitle(waiting);
}

let titled = "Clew",
  waiting = 0;

export function countInTitle(count) {
  waiting = count;
  document.title = count ? `(${count}) ${titled}` : titled;
}

export function head(words, lead, ...tools) {
  return el(
    "div",
    { class: "head", data: { key: "head" } },
    el("div", {}, el("h1", {}, words), lead ? el("p", { class: "quiet" }, lead) : null),
    tools,
  );
}

export function views(label, items, current) {
  return el(
    "nav",
    { class: "tabs", "aria-label": label },
    items.map(([href, name, words]) =>
      el("a", { href, "aria-current": name === current ? "page" : null }, words),
    ),
  );
}

/**
 * @param {any} words
 * @param {{id?: string, count?: any, tools?: any, key?: string}} options
 * @param {...any} children
 */
export function card(words, { id, count, tools, key } = {}, ...children) {
  return el(
    "section",
    { class: "card", id, data: { key: key ?? id ?? words, list: "" } },
    el(
      "header",
      {},
      el("h2", {}, words, count === undefined ? null : el("span", { class: "count" }, ` ${count}`)),
      tools ? el("span", { class: "end" }, tools) : null,
    ),
    children,
  );
}

export function badge(words, kind = "") {
  return words ? el("span", { class: `badge ${kind}` }, words) : null;
}

export function chip(words, kind = "") {
  // Kinds get a prefix: a task's chip must not look like a task's card on the board.
  const own = /^(kind|card)-/.test(kind) ? kind : `chip-${kind}`;
  return words ? el("span", { class: `chip ${own}` }, words) : null;
}

export function command(text) {
  return el("div", { class: "command" }, el("code", {}, text), copyButton(text));
}

// Nothing here yet: what would stand here, and what to run to see it.
export function teach(words, text, ...commands) {
  return el(
    "section",
    { class: "teach", data: { key: `teach ${words}` } },
    el("h2", {}, words),
    el("p", {}, text),
    commands.map(command),
  );
}

export function nothing(text, id) {
  return el("p", { class: "quiet", id }, text);
}

// What went wrong, what to do about it, and the call that does it.
export function explain(problem) {
  const ways = problem.envelope?.suggestions ?? [];
  return [
    el("p", {}, el("strong", {}, sentence(problem.message))),
    problem.recovery ? el("p", {}, sentence(problem.recovery)) : null,
    ways
      .slice(0, 2)
      .map((way) => [
        way.reason ? el("p", { class: "quiet" }, sentence(way.reason)) : null,
        wayOut(way),
      ]),
  ];
}

// A link where the page can do it itself, else the command.
function wayOut({ target, params }) {
  const place = placeOfCall(target, params ?? {});
  return place
    ? el("p", {}, el("a", { class: "button", href: place.href }, place.words))
    : command(commandFor(target, params));
}

export function sentence(text) {
  const words = String(text ?? "").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : "It did not work";
}

export const callText = commandFor;

export function problemCard(problem) {
  return el(
    "section",
    { class: "problem", role: "alert", data: { key: "problem" } },
    explain(problem),
  );
}

// Stays until it is dismissed: an error that vanishes was never said.
export function problemNotice(problem) {
  const shut = el(
    "button",
    { type: "button", class: "small", onclick: () => box.remove() },
    "Dismiss",
  );
  const box = el(
    "div",
    { class: "notice bad", role: "alert" },
    el("div", { class: "stack tight" }, explain(problem), el("div", {}, shut)),
  );
  document.getElementById("notices").append(box);
}

/**
 * Runs what a button stands for; says what came of it. Returns whether it worked.
 * @param {any} button
 * @param {() => any} run
 * @param {string | ((result: any) => string)} [said]
 * @param {((result: any) => any) | null} [undo] takes it back, given what `run` answered
 */
export async function act(button, run, said, undo = null) {
  if (button.ariaDisabled === "true" || !(await named())) return false;
  // Not `disabled`, which would take the focus away from whoever pressed it.
  button.ariaDisabled = "true";
  try {
    const result = await run();
    const words = typeof said === "function" ? said(result) : said;
    if (words) notice(words, "info", undo ? () => undo(result) : null);
    return true;
  } catch (problem) {
    problemNotice(problem);
    return false;
  } finally {
    button.ariaDisabled = null;
  }
}

// Where something will stand that is on its way.
export const skeleton = (lines) =>
  el(
    "div",
    { class: "skeleton", "aria-hidden": "true" },
    Array.from({ length: lines }, () => el("i")),
  );

// A unified diff with what was added and removed in colour; signs stay, colour is never the only
// mark.
export function diffView(text) {
  const kind = (line) =>
    /^(\+\+\+|---|@@)/.test(line)
      ? "place"
      : line.startsWith("+")
        ? "added"
        : line.startsWith("-")
          ? "removed"
          : "";
  return el(
    "div",
    { class: "diff", tabindex: "0", role: "region", "aria-label": "Difference" },
    String(text)
      .split("\n")
      .map((line) => el("span", { class: kind(line) }, line || " ")),
  );
}

// Words that an "s" does not make many of.
const MANY = { hypothesis: "hypotheses", evidence: "pieces of evidence" };

export function several(count, one, many = MANY[one] ?? `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

// Every id leads to its record, which opens beside what is shown.
export const placeOf = (id) => (id ? objectLink(String(id)) : null);

export function idLink(id) {
  return el("a", { class: "id", href: objectLink(id) }, id);
}

// An id as people need it: small, grey, copied by a press.
export function idTag(id) {
  const button = el(
    "button",
    {
      type: "button",
      class: "id tag",
      title: `Copy ${id}`,
      "aria-label": `Copy the id ${id}`,
      onclick: async () => {
        await copy(id);
        notice(`Copied ${id}`);
      },
    },
    shorten(id, 44),
  );
  return button;
}

// A record in a list: the icon of its kind in a column of its own, then its words as a link.
export function recordLink({ id, kind, title: words }, ...more) {
  return el(
    "span",
    { class: "record" },
    el("span", { class: "kind", title: kindWord(kind) }, icon(kind)),
    el(
      "a",
      { class: "what", href: objectLink(id) },
      el("span", { class: "hidden-text" }, `${kindWord(kind)}: `),
      shorten(words || id, 160),
    ),
    more,
  );
}

const TONES = {
  active: "good",
  done: "good",
  DONE: "good",
  seen: "good",
  applied: "good",
  accepted: "good",
  completed: "good",
  open: "info",
  ACTIVE: "info",
  RUNNING: "info",
  staged: "info",
  proposed: "info",
  claimed: "warn",
  PARKED: "warn",
  deferred: "warn",
  superseded: "warn",
  stale: "bad",
  blocked: "bad",
  failed: "bad",
  FAILED: "bad",
  rejected: "bad",
  retracted: "bad",
  revoked: "bad",
  unproven: "bad",
};

// A step that was taken back is blocked for this reason, and waits for nothing.
export function stepState({ completed, blocked, block_reason: why }) {
  if (completed) return "done";
  return !blocked ? "open" : why?.startsWith("canceled: ") ? "canceled" : "blocked";
}

export function statusBadge(status) {
  return status
    ? badge(String(status).toLowerCase().replaceAll("_", " "), TONES[status] ?? "")
    : null;
}

// Prose in the face of the text; blank lines part paragraphs, single line breaks stay.
export function prose(text) {
  const parts = String(text ?? "")
    .trim()
    .split(/\n\s*\n/)
    .filter(Boolean);
  return el(
    "div",
    { class: "prose", dir: "auto" },
    parts.map((part) => el("p", {}, part)),
  );
}
