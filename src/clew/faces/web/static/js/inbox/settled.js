// An Inbox item that is already decided: the decision, by whom, and how to undo it.

import { call, Refused, undoWrites } from "../api.js";
import { ago, el } from "../dom.js";
import { STATUS } from "../facts.js";
import { act, badge, recordLink } from "../parts.js";
import { byWords } from "../people.js";

const WORDS = {
  [STATUS.APPLIED]: ["approved", "good"],
  [STATUS.REJECTED]: ["rejected", "bad"],
  [STATUS.ROLLED_BACK]: ["approved, and undone since", "warn"],
  [STATUS.EXPIRED]: ["no longer needed", ""],
};

export async function settledParts(id, again) {
  try {
    const view = await call("decision_view", { id });
    return view.state === "decided" ? decided(view, again) : other(id);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    return unknown(id);
  }
}

function decided(view, again) {
  const [words, tone] = WORDS[view.status] ?? [view.status, ""];
  return el(
    "section#settled.stack",
    { key: `settled ${view.id}` },
    el("p.quiet", view.id),
    el("h2.record-title", "This is decided already"),
    el("p.row", badge(words, tone), el("span", "by ", el("strong", byWords(view.by)), " · ", ago(view.ts_ms))),
    view.reason ? el("p", view.reason) : null,
    el("p", recordLink(view.record)),
    view.event
      ? el(
          "div.actions",
          el(
            "button",
            {
              data: { act: "undo" },
              onclick: async (event) => {
                const run = () => undoWrites([view.event]);
                const said = "Undone; it waits again";
                if (await act(event.currentTarget, run, said, null)) await again();
              },
            },
            "Undo: let it wait again",
          ),
        )
      : null,
  );
}

const other = (id) =>
  el(
    "section#settled.stack",
    { key: `settled ${id}` },
    el("h2.record-title", "This waits for no decision"),
    el("p", recordLink({ id, kind: "record", title: id })),
  );

const unknown = (id) =>
  el(
    "section#settled.stack",
    { key: `settled ${id}` },
    el("h2.record-title", `There is nothing called ${id}`),
    el("p.quiet", "The address may be mistyped, or belong to another workspace."),
  );
