// Components of all pages: headers, cards, badges, commands to copy, helpful empty states, errors
// in plain words.

import { recorded, Unreachable, undoWrites } from "./api.js";
import { commandFor, placeOfCall } from "./commands.js";
import { copy, copyButton, el, shorten } from "./dom.js";
import { RECORD_KINDS, STATES, STATUS } from "./facts.js";
import { icon, kindWord } from "./kinds.js";
import { stateOf, WORK_WORDS } from "./lifecycle.js";
import { notice } from "./notices.js";
import { named } from "./people.js";
import { objectLink } from "./router.js";

// The title of the page, prefixed with the number of Inbox items, so that a tab shows it.
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
  return el("div.head", { key: "head" }, el("div", el("h1", words), lead ? el("p.quiet", lead) : null), tools);
}

export function views(label, items, current) {
  return el(
    "nav.tabs",
    { "aria-label": label },
    items.map(([href, name, words]) => el("a", { href, "aria-current": name === current ? "page" : null }, words)),
  );
}

/**
 * @param {any} words
 * @param {{id?: string, count?: any, tools?: any, key?: string}} options
 * @param {...any} children
 */
export function card(words, { id, count, tools, key } = {}, ...children) {
  return el(
    "section.card",
    { id, key: key ?? id ?? words },
    el(
      "header",
      el("h2", words, count === undefined ? null : el("span.count", ` ${count}`)),
      tools ? el("span.end", tools) : null,
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
  return el("div.command", el("code", text), copyButton(text));
}

// An empty state: what would be shown here, and what to run to get it.
export function teach(words, text, ...commands) {
  return el("section.teach", { key: `teach ${words}` }, el("h2", words), el("p", text), commands.map(command));
}

export function nothing(text, id) {
  return el("p.quiet", { id }, text);
}

// An error, how to resolve it, and the call that does it.
export function explain(problem) {
  const ways = problem.envelope?.suggestions ?? [];
  return [
    el("p", el("strong", sentence(problem.message))),
    problem.recovery ? el("p", sentence(problem.recovery)) : null,
    ways.slice(0, 2).map((way) => [way.reason ? el("p.quiet", sentence(way.reason)) : null, wayOut(way)]),
  ];
}

// A link if the page can do it itself, else the command.
function wayOut({ target, params }) {
  const place = placeOfCall(target, params ?? {});
  return place ? el("p", el("a.button", { href: place.href }, place.words)) : command(commandFor(target, params));
}

export function sentence(text) {
  const words = String(text ?? "").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : "It did not work";
}

export function problemCard(problem) {
  return el("section.problem", { role: "alert", key: "problem" }, explain(problem));
}

// Stays until it is dismissed: an error that vanishes is not noticed.
export function problemNotice(problem) {
  const shut = el("button.small", { onclick: () => box.remove() }, "Dismiss");
  const box = el("div.notice.bad", { role: "alert" }, el("div.stack.tight", explain(problem), el("div", shut)));
  // Errors of a lost connection are removed when the server is back.
  if (problem instanceof Unreachable) window.addEventListener("clew-again", () => box.remove(), { once: true });
  for (const same of document.querySelectorAll("#problems > .notice"))
    if (same.textContent === box.textContent) same.remove();
  document.getElementById("problems").append(box);
}

/**
 * Runs the action of a button and shows its result. Returns whether it succeeded.
 * @param {any} button
 * @param {() => any} run
 * @param {string | ((result: any) => string)} [said]
 * @param {((result: any) => any) | null} [undo] takes it back in a way of its own, given what `run`
 *   answered; left out, what was written is undone by its events; null: it cannot be undone
 */
export async function act(button, run, said, undo) {
  if (button.ariaDisabled === "true" || !(await named())) return false;
  // Not `disabled`, which would remove the focus from the button.
  button.ariaDisabled = "true";
  try {
    const { result, events } = await recorded(run);
    if (said) report(said, result, undoOf(result, events, undo));
    return true;
  } catch (problem) {
    problemNotice(problem);
    return false;
  } finally {
    button.ariaDisabled = null;
  }
}

// Shows the result of an action, with Undo if it can be undone.
export function report(said, result, undo) {
  const words = typeof said === "function" ? said(result) : said;
  if (words) notice(words, "info", undo);
}

// The undo of an action: its own, else by the events that it wrote.
export function undoOf(result, events, own) {
  if (own) return () => own(result);
  return own === undefined && events.length ? () => undoWrites(events) : null;
}

// A placeholder for content that is loading.
export const skeleton = (lines) =>
  el(
    "div.skeleton",
    { "aria-hidden": "true" },
    Array.from({ length: lines }, () => el("i")),
  );

// A unified diff with what was added and removed in colour; signs stay, colour is never the only
// mark.
export function diffView(text) {
  const kind = (line) =>
    /^(\+\+\+|---|@@)/.test(line) ? "place" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
  return el(
    "div.diff",
    { tabindex: "0", role: "region", "aria-label": "Difference" },
    String(text)
      .split("\n")
      .map((line) => el("span", { class: kind(line) }, line || " ")),
  );
}

// Words that an "s" does not make many of.
const MANY = { hypothesis: "hypotheses", evidence: "pieces of evidence", rejected: "rejected" };

export function several(count, one, many = MANY[one] ?? `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

// Every id links to its record, which opens in the panel next to the view.
export const placeOf = (id) => (id ? objectLink(String(id)) : null);

export function idLink(id) {
  return el("a.id", { href: objectLink(id) }, id);
}

// An id as people need it: small, grey, copied by a press.
export function idTag(id) {
  const button = el(
    "button.id.tag",
    {
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
    "span.record",
    el("span.kind", { title: kindWord(kind) }, icon(kind)),
    el("a.what", { href: objectLink(id) }, el("span.hidden-text", `${kindWord(kind)}: `), shorten(words || id, 160)),
    more,
  );
}

// The colours of states, and statuses that are more specific than their state.
const TONES = {
  "in force": "good",
  settled: "good",
  approved: "good",
  proposed: "info",
  open: "info",
  replaced: "warn",
  expired: "warn",
  withdrawn: "bad",
  seen: "good",
  claimed: "warn",
  stale: "bad",
  unproven: "bad",
  [STATUS.PARKED]: "warn",
  [STATUS.DEFERRED]: "warn",
  [STATUS.BLOCKED]: "bad",
  [STATUS.FAILED]: "bad",
};

function toneOf(status) {
  const word = String(status).toLowerCase();
  return TONES[word] ?? TONES[STATES[word]] ?? "";
}

const PROOF_TONES = { proven: "good", seen: "good", claimed: "warn", overridden: "warn" };

// How well a step or claim is proven, in the same colours everywhere.
export const proofBadge = (state) =>
  state && state !== "none" ? badge(state === "seen" ? "proven" : state, PROOF_TONES[state] ?? "bad") : null;

// A withdrawn step is blocked for this reason, and waits for nothing.
export function stepState({ completed, blocked, block_reason: why }) {
  if (completed) return STATUS.DONE;
  if (!blocked) return STATUS.OPEN;
  return why?.startsWith("canceled: ") ? STATUS.CANCELED : STATUS.BLOCKED;
}

export function statusBadge(status) {
  return status ? badge(String(status).toLowerCase().replaceAll("_", " "), toneOf(status)) : null;
}

const LABEL_TONES = { disputed: "bad", suspect: "warn", stale: "bad" };

/**
 * The status of a record, with the same labels everywhere: "in force", "disputed with D-5". A
 * rejected alternative is in force as a rejection, and labelled so.
 * @param {{kind?: string, status?: string, label?: string, disputed_with?: any[]}} record
 */
export function stateBadges({ kind, status, label, disputed_with: disputed = [] }) {
  const isOwn = Boolean(OWN_WORDS[kind]?.[status]) || label === label?.toUpperCase();
  const known = label && !isOwn ? label : stateWord(kind, status);
  const words = known.split(/, (?=disputed|suspect|stale)/);
  if (disputed.length && !/disputed/.test(label ?? "")) words.push("disputed");
  return words.filter(Boolean).map((one) => {
    if (kind === "rejected" && one === "in force") return badge("rejected");
    if (one === "seen") return proofBadge(one);
    const [first] = one.split(/[ :]/);
    return badge(one, LABEL_TONES[first] ?? toneOf(one.replace(/ by .*/, "")));
  });
}

const PROPOSAL_WORDS = { [STATUS.APPLIED]: "approved", [STATUS.STAGED]: "proposed", [STATUS.DEFERRED]: "put off" };
const OWN_WORDS = { plan: WORK_WORDS, task: WORK_WORDS, proposal: PROPOSAL_WORDS };

// Records of memory have a state; work, jobs and sessions keep the word of their status.
export function stateWord(kind, status) {
  if (!status) return "";
  const own = OWN_WORDS[kind]?.[status];
  if (own) return own;
  const remembered = RECORD_KINDS.some(({ name, family }) => name === kind && family === "standing");
  return remembered ? stateOf(kind, status) : String(status).toLowerCase().replaceAll("_", " ");
}

// Prose in the face of the text; blank lines part paragraphs, single line breaks stay.
export function prose(text) {
  const parts = String(text ?? "")
    .trim()
    .split(/\n\s*\n/)
    .filter(Boolean);
  return el(
    "div.prose",
    { dir: "auto" },
    parts.map((part) => el("p", part)),
  );
}
