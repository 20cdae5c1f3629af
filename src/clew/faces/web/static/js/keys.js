// Keyboard shortcuts: maps that are registered by views, `?` that lists them, Escape that closes
// the last opened element.

import { el } from "./dom.js";

/** @type {{title: string, keys: Record<string, [string, (event: KeyboardEvent) => any]>}[]} */
const maps = [];
/** @type {(() => any)[]} */
const layers = [];
/** @type {(() => any)[]} */
const modals = [];

// `keys` is `{key: [words, run]}`; the newest has precedence. Returns a function to remove it.
export function keymap(title, keys) {
  const map = { title, keys };
  maps.unshift(map);
  return () => void maps.splice(maps.indexOf(map), 1);
}

// `close` is called by Escape while it is the last one opened. Returns a function to remove it. A
// modal dialog is above everything else, also above a view that was drawn after it.
export function onEscape(close, stack = layers) {
  stack.push(close);
  return () => {
    const at = stack.lastIndexOf(close);
    if (at >= 0) stack.splice(at, 1);
  };
}

// A field's label with its shortcut; touch devices show no shortcuts.
export const withKey = (words, key) =>
  matchMedia("(hover: none) and (pointer: coarse)").matches ? words : `${words} ( ${key} )`;

const TYPING = "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select";
let leader = "";

export function pressed(event) {
  if (event.key === "Escape") return closeLast(event);
  const target = /** @type {Element} */ (event.target);
  if (event.altKey || target.closest?.(TYPING) || target.closest?.("dialog")) return;
  const chord = event.ctrlKey || event.metaKey ? `Ctrl-${event.key.toLowerCase()}` : event.key;
  const wanted = leader ? `${leader} ${chord}` : chord;
  leader = !leader && chord === "g" ? "g" : "";
  const found = maps.find(({ keys }) => keys[wanted]);
  // Enter and Space belong to the button or link that has the focus.
  if (!found || ([" ", "Enter"].includes(event.key) && target.closest?.("button, a, summary"))) return;
  if (found.keys[wanted][1](event) !== false) event.preventDefault();
}

function closeLast(event) {
  const close = modals.at(-1) ?? layers.at(-1);
  if (close) {
    event.preventDefault();
    close();
    return;
  }
  const typed = /** @type {HTMLElement} */ (event.target);
  if (typed.matches?.(TYPING)) document.getElementById("main").focus({ preventScroll: true });
}

export function showKeys() {
  const part = ({ title, keys }) =>
    el(
      "section",
      el("h3", title),
      el(
        "dl.keys",
        Object.entries(keys)
          .filter(([, [words]]) => words)
          .flatMap(([key, [words]]) => [
            el(
              "dt",
              key.split(" ").map((one) => el("kbd", NAMES[one] ?? one)),
            ),
            el("dd", words),
          ]),
      ),
    );
  dialog("Keys", "keys-help", el("div.columns", maps.map(part)));
}

const NAMES = { " ": "Space", ArrowDown: "↓", ArrowUp: "↑" };

// One dialog for everything: Escape and a click outside close it, and the focus is restored.
export function dialog(title, id, ...children) {
  const before = /** @type {HTMLElement} */ (document.activeElement);
  const box = /** @type {HTMLDialogElement} */ (
    el(
      "dialog.dialog",
      { id, "aria-label": title },
      el("header", el("h2", title), el("button.icon", { "aria-label": `Close ${title}`, onclick: () => shut() }, "×")),
      children,
    )
  );
  const done = onEscape(() => shut(), modals);
  const shut = () => {
    done();
    box.remove();
    // The element that was clicked may be gone by now, and before any click nothing had the focus.
    const back = before?.isConnected && before !== document.body ? before : null;
    (back ?? document.getElementById("main")).focus({ preventScroll: true });
  };
  box.addEventListener("cancel", (event) => event.preventDefault());
  box.addEventListener("pointerdown", (event) => {
    if (event.target === box) shut();
  });
  document.body.append(box);
  box.showModal();
  return { box, shut };
}
