// Elements from text, never from markup: nothing that comes from the store is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: `el("p.quiet", "words")`, `el("a#home.button", { href }, "Home")`. A button submits
 * only with an explicit type.
 * @param {string} shape its name, `#` its id and `.` each of its classes
 * @param {any[]} given its attributes, which may be left out, and its children
 * @returns {any}
 */
export function el(shape, ...given) {
  const [, tag] = SHAPE.exec(shape);
  const node = document.createElement(tag);
  if (tag === "button") node.setAttribute("type", "button");
  return fill(node, shape, given);
}

/** @returns {any} */
export const svg = (shape, ...given) => fill(document.createElementNS(SVG, SHAPE.exec(shape)[1]), shape, given);

const SHAPE = /^([\w-]+)(?:#([\w-]+))?((?:\.[\w-]+)*)$/;

function fill(node, shape, given) {
  const [, , id, classes] = SHAPE.exec(shape);
  if (id) node.id = id;
  if (classes) node.setAttribute("class", classes.slice(1).replaceAll(".", " "));
  const hasAttributes = given[0]?.constructor === Object;
  for (const [name, value] of Object.entries(hasAttributes ? given[0] : {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) listen(node, name.slice(2), value);
    else if (name === "key") node.dataset.key = value;
    else if (name === "data") for (const [key, text] of Object.entries(value)) node.dataset[key] = text;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, hasAttributes ? given.slice(1) : given);
  return node;
}

/** @type {WeakMap<Node, Record<string, Function | null>>} */
const handlers = new WeakMap();

// Handlers can be replaced, so that an element can be reused when it is rendered again.
function listen(node, type, handler) {
  let own = handlers.get(node);
  if (!own) {
    own = {};
    handlers.set(node, own);
  }
  if (!(type in own)) node.addEventListener(type, (event) => own[type]?.(event));
  own[type] = handler;
}

// Copies the handlers of the new element to the one that is kept in its place.
export function adopt(node, other) {
  const mine = handlers.get(node) ?? {},
    theirs = handlers.get(other) ?? {};
  for (const type of Object.keys(mine)) if (!(type in theirs)) mine[type] = null;
  for (const [type, handler] of Object.entries(theirs)) listen(node, type, handler);
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

export function shorten(text, limit) {
  const plain = String(text ?? "").trim();
  return plain.length > limit ? `${plain.slice(0, limit - 1)}…` : plain;
}

// "3 minutes ago", after a week "12 Nov", with the exact moment on hover; `refresh` keeps it true.
export function ago(stamp) {
  const at = typeof stamp === "number" ? stamp : Date.parse(stamp);
  if (!Number.isFinite(at)) return "";
  return el("time", { datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString() }, since(at));
}

function since(at) {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  if (seconds < 60) return "just now";
  if (seconds > WEEK) return day(at);
  const [unit, size] = seconds < 3600 ? ["minute", 60] : seconds < 86400 ? ["hour", 3600] : ["day", 86400];
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}

const WEEK = 7 * 86400;

// "12 Nov", with the year when it is another one.
export function day(at) {
  const date = new Date(at);
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", year });
}

export function refresh() {
  /** @type {NodeListOf<HTMLTimeElement>} */
  const times = document.querySelectorAll("time[datetime]:not([data-fixed])");
  for (const node of times) {
    const text = since(Date.parse(node.dateTime));
    if (node.textContent !== text) node.textContent = text;
  }
}

// Browsers allow the clipboard only on localhost or over HTTPS; else fall back to the copy command.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea.hidden-text", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function copyButton(text, label = "copy") {
  const what = shorten(text, 400);
  const button = el("button.small", { "aria-label": `${label} ${what}`, onclick: run }, label);
  const say = (words) => {
    button.textContent = words;
    button.setAttribute("aria-label", `${words} ${what}`);
  };
  async function run() {
    await copy(text);
    say("copied");
    setTimeout(() => say(label), 1500);
  }
  return button;
}
