// When somebody last looked, for each workspace, kept in this browser.

import { remember, remembered } from "../../state.js";

// A visit goes on while the pauses are shorter than this: a reload is not a new look.
const PAUSE = 30 * 60 * 1000;

// Where this visit began to look: {mark: number of the last event seen before it, at: when that
// was, first: never here}.
export function visit(workspace) {
  const known = remembered(`seen.${workspace}`, null);
  if (!known) return { mark: 0, at: null, first: true };
  const over = Date.now() - known.at > PAUSE;
  const mark = over ? known.last : known.mark;
  const since = over ? known.at : (known.since ?? null);
  remember(`seen.${workspace}`, { ...known, mark, since, at: Date.now() });
  return { mark, at: since, first: mark === 0 };
}

// Everything up to `last` is on the screen now; `done` says that the reader is done with it.
export function lookedUntil(workspace, last, done = false) {
  const known = remembered(`seen.${workspace}`, { mark: 0, since: null });
  const marks = done ? { mark: last, since: Date.now() } : { mark: known.mark, since: known.since };
  remember(`seen.${workspace}`, { ...marks, last, at: Date.now() });
}
