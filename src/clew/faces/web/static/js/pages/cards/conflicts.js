// Open conflicts: the common base, ours and theirs side by side, resolved with one click.

import { call } from "../../api.js";
import { keyText, openConflicts } from "../../conflicts.js";
import { ago, el } from "../../dom.js";
import { act, badge, teach } from "../../parts.js";

const FIELDS = ["type", "title", "text", "status", "tags", "rel", "weight", "meta"];

export async function conflictParts() {
  const found = await openConflicts();
  if (!found.length)
    return [
      el(
        "div",
        { id: "no-conflicts", data: { key: "none" } },
        teach(
          "No open conflicts",
          "When two branches change the same card differently, the merge keeps both states and asks here. Nothing is lost meanwhile.",
        ),
      ),
    ];
  return [
    el("div", { class: "stack", data: { key: "conflicts", list: "" } }, found.map(conflictCard)),
  ];
}

function conflictCard(conflict) {
  const resolve = (resolution, said) => (event) =>
    act(
      event.target,
      () => call("graph_conflict_resolve", { conflict_id: conflict.conflict_id, resolution }),
      `${keyText(conflict)}: ${said}`,
    );
  const button = (words, resolution, said) =>
    el(
      "button",
      {
        type: "button",
        class: "primary",
        data: { resolution },
        onclick: resolve(resolution, said),
      },
      words,
    );
  return el(
    "article",
    { class: "card conflict", data: { key: conflict.conflict_id, conflict: conflict.conflict_id } },
    el(
      "header",
      {},
      el("h2", {}, keyText(conflict)),
      badge(conflict.kind === "edge" ? "link" : "card"),
      el(
        "span",
        { class: "quiet" },
        `${conflict.from} into ${conflict.into} · ${conflict.doc} · `,
        ago(conflict.created_at_ms),
      ),
    ),
    el(
      "div",
      { class: "three" },
      side("Base", "as it was when they parted", conflict.base, conflict, null),
      side(
        "Ours",
        conflict.into,
        conflict.ours,
        conflict,
        button("Keep ours", "use_into", "ours kept"),
      ),
      side(
        "Theirs",
        conflict.from,
        conflict.theirs,
        conflict,
        button("Take theirs", "use_from", "theirs taken"),
      ),
    ),
  );
}

function side(words, where, state, conflict, button) {
  const shown = FIELDS.filter((name) =>
    [conflict.base, conflict.ours, conflict.theirs].some((item) => text(item?.[name])),
  );
  return el(
    "section",
    { class: "side-by-side", data: { side: words.toLowerCase() } },
    el("h3", {}, words, el("span", { class: "quiet" }, ` ${where}`)),
    !state
      ? el("p", { class: "quiet" }, "not there")
      : state.deleted
        ? el("p", {}, badge("deleted", "bad"))
        : el(
            "dl",
            { class: "facts" },
            shown.flatMap((name) => [
              el("dt", {}, name),
              el(
                "dd",
                { class: text(state[name]) === text(conflict.base?.[name]) ? "" : "differs" },
                text(state[name]) || "–",
              ),
            ]),
          ),
    button ? el("div", {}, button) : null,
  );
}

function text(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
