// What every page is made of: heads, cards, badges, commands to copy, empty states that teach,
// problems in plain words.

import { copyButton, el, notice } from "./dom.js";
import { IDS } from "./facts.js";
import { link } from "./router.js";

export function title(...words) {
  document.title = [...words, "Clew"].join(" · ");
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
  return words ? el("span", { class: `chip ${kind}` }, words) : null;
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
        command(callText(way.target, way.params)),
      ]),
  ];
}

export function sentence(text) {
  const words = String(text ?? "").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : "It did not work";
}

// A call as one would type it into a terminal.
export function callText(name, params = {}) {
  const shown = Object.entries(params).filter(([, value]) => value !== null && value !== undefined);
  const value = (given) =>
    typeof given === "string" && /^[\w.:@/-]+$/.test(given)
      ? given
      : quoted(typeof given === "string" ? given : JSON.stringify(given));
  return ["clew call", name, ...shown.map(([key, given]) => `${key}=${value(given)}`)].join(" ");
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

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

// Runs what a button stands for; says what came of it. Returns whether it worked.
export async function act(button, run, said) {
  button.disabled = true;
  try {
    await run();
    if (said) notice(said);
    return true;
  } catch (problem) {
    problemNotice(problem);
    return false;
  } finally {
    button.disabled = false;
  }
}

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

export function several(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

const FORMS = Object.fromEntries(
  Object.entries(IDS).map(([kind, form]) => [kind, new RegExp(form)]),
);

// The page that shows an id best; null when none does. What a session's id begins with is one of its thoughts.
export function placeOf(id) {
  const name = String(id ?? "");
  const is = (...kinds) => kinds.some((kind) => FORMS[kind].test(name));
  if (is("task", "plan")) return link("work", name);
  if (is("job")) return link("jobs", name);
  if (is("anchor")) return link("map", name);
  if (is("proposal")) return link("memory", "review", name);
  if (is("contradiction")) return link("memory", "contradictions");
  if (is("block")) return link("memory", "blocks", name);
  if (FORMS.session.test(name.slice(0, 36)))
    return link("reasoning", name.slice(0, 36), ...(name.length > 36 ? [name] : []));
  return null;
}

export function idLink(id) {
  const href = placeOf(id);
  return href ? el("a", { class: "id", href }, id) : el("span", { class: "id" }, id);
}
