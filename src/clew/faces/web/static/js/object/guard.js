// The check that a rule or decision carries. Agents propose checks; only a person approves or
// withdraws one: the server requires a signed-in person.

import { call, tryCall } from "../api.js";
import { ago, el } from "../dom.js";
import { askFields } from "../forms.js";
import { act, badge } from "../parts.js";
import { byWords } from "../people.js";

const TONES = { guards: "good", waits: "warn", unreadable: "bad" };
const STATES = {
  guards: "guards",
  waits: "waits for approval",
  "guards, rule withdrawn": "guards until you revoke it, although the rule was withdrawn",
  unreadable: "cannot be read",
  "guards, changed since": "guards as approved; the record was edited since",
};

export async function guardBody(view) {
  const fields = Object.keys(view.shown?.block?.fields ?? {});
  const carries = fields.some((name) => name.startsWith("Guard"));
  const found = carries ? await tryCall("guards", { id: view.id }) : null;
  const [guard] = found?.guards ?? [];
  return guard ? guardPart(view, guard) : null;
}

function guardPart(view, guard) {
  return el(
    "section.part",
    { key: "guard" },
    el("h3", "Check before an agent acts"),
    el("p", badge(STATES[guard.state] ?? guard.state, TONES[guard.state] ?? "warn")),
    el("p.guard-words", guard.in_words),
    guard.changed_to ? el("p", "Now written: ", guard.changed_to) : null,
    guard.approved ? el("p.quiet", `approved by ${byWords(guard.approved_by)} · `, ago(guard.approved)) : null,
    el("div.actions", buttons(view, guard)),
  );
}

function buttons(view, guard) {
  const approvable = guard.state === "waits" || Boolean(guard.changed_to);
  return [
    approvable ? button(view, "guard_approve", "Approve the check", guard.changed_to ?? guard.in_words) : null,
    guard.approved ? button(view, "guard_revoke", "Take approval back", guard.in_words) : null,
  ];
}

function button(view, name, words, check) {
  const asked = async (event) => {
    const pressed = event.currentTarget;
    const lead = el("p", `${view.id}: ${check}`);
    if (!(await askFields(words, [], { lead }))) return;
    await act(pressed, () => call(name, { id: view.id }), `${words}: ${view.id}`, null);
  };
  const primary = name === "guard_approve" ? "primary" : "";
  return el("button", { class: primary, data: { act: name }, onclick: asked }, words);
}
