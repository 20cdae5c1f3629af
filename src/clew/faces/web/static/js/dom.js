// Elements from text, never from markup: nothing that comes from the store is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") for (const [key, text] of Object.entries(value)) node.dataset[key] = text;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
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
  return plain.length > limit ? plain.slice(0, limit - 1) + "…" : plain;
}

// "3 minutes ago", with the exact moment on hover.
export function ago(stamp) {
  const at = typeof stamp === "number" ? stamp : Date.parse(stamp);
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  const steps = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [Infinity, "day", 86400]];
  const [, unit, size] = steps.find(([limit]) => seconds < limit);
  const count = Math.floor(seconds / size);
  const text = unit === "second" && count < 5 ? "just now" : `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  return el("time", { datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString() }, text);
}

export async function copy(text) {
  await navigator.clipboard.writeText(text);
}

let notices;
export function notice(text, kind = "info") {
  notices ??= document.getElementById("notices");
  const line = el("p", { class: `notice ${kind}` }, text);
  notices.append(line);
  setTimeout(() => line.remove(), 6000);
}

export function copyButton(text, label = "copy") {
  const button = el("button", { type: "button", class: "small", onclick: run }, label);
  async function run() {
    await copy(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  }
  return button;
}
