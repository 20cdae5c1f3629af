// What came of an action, said at the lower left, where no button lies; with Undo where there is a
// way back.

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
  const line = el("p", { class: `notice ${kind}` }, el("span", {}, text));
  if (undo) offerUndo(line, text, undo);
  document.getElementById("notices").append(line);
  setTimeout(() => line.remove(), undo ? UNDONE_WITHIN : SHOWN);
  return line;
}

function offerUndo(line, words, run) {
  const way = { run, line, words };
  ways.push(way);
  setTimeout(() => forgetWay(way), UNDONE_WITHIN);
  line.append(
    el(
      "button",
      { type: "button", class: "small", onclick: () => take(way) },
      "Undo ",
      el("span", { class: "hidden-text" }, words),
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

// Takes back the newest thing that still can be. Returns whether there was one.
export function undoLast() {
  const way = ways.at(-1);
  if (!way) {
    notice("Nothing to undo: what was done can be taken back for ten seconds.");
    return false;
  }
  take(way);
  return true;
}
