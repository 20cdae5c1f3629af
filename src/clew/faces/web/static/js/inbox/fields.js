// A merge conflict field by field: for each field that differs, ours or theirs; what both sides have
// alike is not shown.

import { call } from "../api.js";
import { el } from "../dom.js";
import { act } from "../parts.js";

const FIELDS = ["type", "title", "text", "status", "tags", "meta"];
/** @type {Map<string, Record<string, string>>} what was chosen, by conflict */
const chosen = new Map();

const text = (value) =>
  value === null || value === undefined
    ? ""
    : Array.isArray(value)
      ? value.join(", ")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);

export function fieldChoice(item, conflict) {
  const { ours, theirs, base } = conflict;
  if (!ours || !theirs || ours.deleted || theirs.deleted || conflict.kind === "edge")
    return el(
      "p",
      {},
      `On ${conflict.from}: ${theirs?.deleted ? "deleted" : "changed"}; on ${conflict.into}: ${ours?.deleted ? "deleted" : ours ? "changed" : "not there"}.`,
    );
  const differing = FIELDS.filter((name) => text(ours[name]) !== text(theirs[name]));
  const choice = chosen.get(item.id) ?? {};
  chosen.set(item.id, choice);
  return el(
    "section",
    { class: "part", data: { key: "fields" } },
    el("h3", {}, "What differs"),
    differing.map((name) =>
      el(
        "fieldset",
        { class: "choice", data: { key: name, field: name } },
        el("legend", {}, name),
        [
          ["ours", `on ${conflict.into}`, ours],
          ["theirs", `on ${conflict.from}`, theirs],
        ].map(([side, words, state]) =>
          el(
            "label",
            {},
            el("input", {
              type: "radio",
              name: `${item.id} ${name}`,
              value: side,
              checked: (choice[name] ?? "ours") === side,
              onchange: () => {
                choice[name] = String(side);
              },
            }),
            el("span", { class: "quiet" }, `${words} `),
            text(state[name]) || "–",
          ),
        ),
        base && text(base[name])
          ? el("p", { class: "quiet" }, `before: ${text(base[name])}`)
          : null,
      ),
    ),
    el(
      "div",
      {},
      el(
        "button",
        {
          type: "button",
          data: { act: "mixed" },
          onclick: (event) =>
            act(
              event.currentTarget,
              () => resolveFields(conflict, choice, differing),
              "Merged as chosen",
            ),
        },
        "Merge as chosen",
      ),
    ),
  );
}

// Writes the mixture where the merge leads, then says that the destination's state stays.
async function resolveFields(conflict, choice, differing) {
  const taken = differing.filter((name) => choice[name] === "theirs");
  const node = { id: conflict.ours.id };
  for (const name of FIELDS) {
    const value = (taken.includes(name) ? conflict.theirs : conflict.ours)[name];
    if (value !== null && value !== undefined) node[name] = value;
  }
  if (taken.length)
    await call("graph_apply", {
      branch: conflict.into,
      doc: conflict.doc,
      ops: [{ op: "node_upsert", ...node }],
    });
  await call("graph_conflict_resolve", {
    conflict_id: conflict.conflict_id,
    resolution: "use_into",
  });
}
