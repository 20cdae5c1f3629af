// The resolutions of a merge conflict: theirs, ours, or field by field. Each can be undone: the
// destination gets its former state, and the conflict is open again.

import { call } from "../api.js";

const FIELDS = ["type", "title", "text", "status", "tags", "meta"];
/** @type {Map<string, Record<string, string>>} the side that was chosen for each field, by conflict */
const chosen = new Map();

export function choiceOf(id) {
  const known = chosen.get(id) ?? {};
  chosen.set(id, known);
  return known;
}

export const textOf = (value) =>
  value === null || value === undefined
    ? ""
    : Array.isArray(value)
      ? value.join(", ")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);

export const differingFields = ({ ours, theirs }) =>
  FIELDS.filter((name) => textOf(ours[name]) !== textOf(theirs[name]));

export async function conflictNow(id) {
  const asked = { conflict_id: id, max_chars: 200_000 };
  return (await call("graph_conflict_show", asked)).conflict;
}

async function resolve({ id }, resolution) {
  const before = await conflictNow(id);
  await call("graph_conflict_resolve", { conflict_id: id, resolution });
  return before;
}

// Writes the mixture to the destination of the merge, then resolves it with the destination's
// state.
async function mergeChosen(item) {
  const before = await conflictNow(item.id);
  const choice = choiceOf(item.id);
  const taken = differingFields(before).filter((name) => choice[name] === "theirs");
  const sides = Object.fromEntries(
    FIELDS.map((name) => [name, (taken.includes(name) ? before.theirs : before.ours)[name]]),
  );
  if (taken.length) await write(before, { op: "node_upsert", id: before.ours.id, ...given(sides) });
  await call("graph_conflict_resolve", { conflict_id: item.id, resolution: "use_into" });
  return { ...before, taken, wrote: taken.length > 0 };
}

const given = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

const write = ({ into, doc }, op) => call("graph_apply", { branch: into, doc, ops: [op] });

// Restores the state of the destination before the decision.
function stateBefore({ kind, ours, theirs }) {
  const there = ours && !ours.deleted;
  if (kind === "edge") {
    const { from, rel, to, meta } = ours ?? theirs;
    return there ? { op: "edge_upsert", ...given({ from, rel, to, meta }) } : { op: "edge_delete", from, rel, to };
  }
  if (!there) return { op: "node_delete", id: theirs.id };
  return {
    op: "node_upsert",
    id: ours.id,
    ...given(Object.fromEntries(FIELDS.map((name) => [name, ours[name]]))),
  };
}

const reopen = ({ id }) => call("graph_conflict_reopen", { conflict_id: id });

async function takeBack(item, before) {
  if (before.wrote !== false) await write(before, stateBefore(before));
  await reopen(item);
}

const mixture = ({ from, into }, { taken }) =>
  taken.length
    ? `Merged: ${taken.join(" and ")} from ${from}, the rest as on ${into}`
    : `Merged: everything stays as on ${into}`;

const MIX = {
  key: "e",
  name: "mixed",
  words: "Merge as chosen",
  run: mergeChosen,
  undo: takeBack,
  said: (item, result) => mixture(item.facts, result),
};

/** @returns {import("./ways.js").Way[]} */
export const conflictWays = ({ facts }) => [
  {
    key: "2",
    name: "theirs",
    words: `Take what is on ${facts.from}`,
    run: (item) => resolve(item, "use_from"),
    // Removing a card also removes its links, which are not stored, so it cannot be undone.
    undo: facts.removes ? undefined : takeBack,
    final: facts.removes ? "the card goes, and its links with it" : undefined,
    said: ({ facts: { from } }) => `Taken from ${from}`,
  },
  {
    key: "1",
    name: "ours",
    words: `Keep what is on ${facts.into}`,
    run: (item) => resolve(item, "use_into"),
    undo: reopen,
    said: ({ facts: { into } }) => `Kept as on ${into}`,
  },
  ...(facts.mixes ? [MIX] : []),
];
