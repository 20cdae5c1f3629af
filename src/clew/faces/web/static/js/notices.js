// The result of an action, shown in the bar, where it covers nothing and moves nothing; with Undo
// if it can be undone. One at a time: the newest.

import { el } from "./dom.js";

const SHOWN = 6_000,
  UNDONE_WITHIN = 10_000;
/** @type {{run: () => any, line: HTMLElement, words: string}[]} */
const ways = [];

/**
 * @param {string} text
 * @param {string} [kind]
 * @param {(() => any) | null} [undo] takes it back; offered for ten seconds, also by `z`
 */
export function notice(text, kind = "info", undo = null) {
  const line = el("p", { class: `notice ${kind}` }, el("span", { title: text }, text));
  if (undo) offerUndo(line, text, undo);
  place().replaceChildren(line);
  setTimeout(() => line.remove(), undo ? UNDONE_WITHIN : SHOWN);
  return line;
}

// In the bar; on small screens in a separate line above the places.
function place() {
  const box = document.getElementById("notices");
  const isSmall = matchMedia("(max-width: 720px)").matches;
  if (isSmall !== (box.parentElement === document.body))
    if (isSmall) document.body.append(box);
    else document.querySelector(".tools").before(box);
  return box;
}

function offerUndo(line, words, run) {
  const way = { run, line, words };
  ways.push(way);
  setTimeout(() => forgetWay(way), UNDONE_WITHIN);
  line.append(
    el(
      "button.small",
      { onclick: () => take(way) },
      "Undo ",
      el("span.hidden-text", words),
      el("kbd", { "aria-hidden": "true" }, "z"),
    ),
  );
}

function forgetWay(way) {
  if (ways.includes(way)) ways.splice(ways.indexOf(way), 1);
}

async function take(way) {
  forgetWay(way);
  way.line.remove();
  try {
    await way.run();
    notice(`Undone: ${way.words}`);
  } catch (problem) {
    notice(`Could not be undone: ${problem.message}`, "bad");
  }
}

// Undoes the last action; later, one that is selected from the last writes.
export async function undoLast() {
  const way = ways.at(-1);
  if (way) return take(way);
  const { chooseUndo } = await import("./undo.js");
  return chooseUndo();
}
