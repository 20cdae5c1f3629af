// Merging a branch into another: first a preview, then both of its parts, cards and notes.

import { call } from "./api.js";
import { el } from "./dom.js";
import { askFields } from "./forms.js";
import { act, problemNotice, several } from "./parts.js";
import { link } from "./router.js";

// The batch size of each operation; the merge continues until nothing is left.
async function whole(name, args) {
  const sum = { merged: 0, conflicts: 0 };
  let cursor;
  do {
    const done = await call(name, { ...args, cursor });
    sum.merged += done.merged;
    sum.conflicts += done.conflicts_created ?? 0;
    cursor = done.pagination.has_more ? done.pagination.next_cursor : null;
  } while (cursor !== null);
  return sum;
}

async function run(from, into, dry_run = false) {
  const cards = await whole("graph_merge", { from, into, dry_run });
  const notes = await whole("merge", { from, into, dry_run });
  return { cards: cards.merged, conflicts: cards.conflicts, notes: notes.merged };
}

const brought = ({ cards, notes, conflicts }) =>
  `${several(cards, "change")} of cards and links, ${several(notes, "note")}` +
  (conflicts ? `; ${several(conflicts, "conflict")} to decide` : "");

export function mergeButton(from, into) {
  return el(
    "button#merge",
    { onclick: (event) => merge(event.currentTarget, from, into) },
    `Merge ${from} into ${into}`,
  );
}

async function merge(button, from, into) {
  try {
    const would = await run(from, into, true);
    const lead = el(
      "p",
      `It brings ${brought(would)}. A merge cannot be undone as a whole; each card keeps its versions. `,
      "What both changed differently stays as it is on both, and waits in the Inbox field by field.",
    );
    const given = await askFields(`Merge ${from} into ${into}`, [], { doIt: "Merge", lead });
    if (!given) return;
    let done = would;
    const went = await act(
      button,
      async () => {
        done = await run(from, into);
      },
      `Merged ${from} into ${into}`,
      null,
    );
    if (went && done.conflicts) location.hash = link("inbox", { kind: "conflict" });
  } catch (problem) {
    problemNotice(problem);
  }
}
