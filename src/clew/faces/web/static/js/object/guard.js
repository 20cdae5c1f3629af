// The check that a rule or decision carries. Agents propose checks; only a person approves one, or
// takes it back: the server believes it of somebody who logged in here, has a name, and was asked.

import { keepKey, Refused, send, tryCall } from "../api.js";
import { ago, el } from "../dom.js";
import { askFields } from "../forms.js";
import { act, badge } from "../parts.js";
import { byWords } from "../people.js";
import { state } from "../state.js";

const TONES = { guards: "good", waits: "warn", rests: "", unreadable: "bad" };
const STATES = {
  guards: "guards",
  waits: "waits for approval",
  rests: "rests while the rule does not hold",
  unreadable: "cannot be read",
  "guards, changed since": "guards as approved; the block says something else by now",
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
    "section",
    { class: "part", data: { key: "guard" } },
    el("h3", {}, "Check before an agent acts"),
    el("p", {}, badge(STATES[guard.state] ?? guard.state, TONES[guard.state] ?? "warn")),
    el("p", { class: "guard-words" }, guard.in_words),
    guard.changed_to ? el("p", {}, "Now written: ", guard.changed_to) : null,
    guard.approved
      ? el(
          "p",
          { class: "quiet" },
          `approved by ${byWords(guard.approved_by)} · `,
          ago(guard.approved),
        )
      : null,
    el("div", { class: "actions" }, buttons(view, guard)),
  );
}

function buttons(view, guard) {
  const approvable = guard.state === "waits" || Boolean(guard.changed_to);
  return [
    approvable
      ? button(view, "guard_approve", "Approve the check", guard.changed_to ?? guard.in_words)
      : null,
    guard.approved ? button(view, "guard_revoke", "Take approval back", guard.in_words) : null,
  ];
}

function button(view, name, words, check) {
  const asked = async (event) => {
    const pressed = event.currentTarget;
    const lead = el("p", {}, `${view.id}: ${check}`);
    if (!(await askFields(words, [], words, lead))) return;
    await act(pressed, () => confirmed(name, view.id), `${words}: ${view.id}`);
  };
  const primary = name === "guard_approve" ? "primary" : "";
  return el(
    "button",
    { type: "button", class: primary, data: { act: name }, onclick: asked },
    words,
  );
}

// A server without a token has asked nobody to log in, and one that was started anew has forgotten
// who did: then the page logs in and tries once more.
async function confirmed(name, id) {
  let answer = await ask(name, id);
  if (answer.error?.code === "NOT_ALLOWED") {
    keepKey((await send("/page/login", {})).key);
    answer = await ask(name, id);
  }
  if (!answer.success) throw new Refused(answer.error, answer);
  return answer.result;
}

const ask = (name, id) =>
  send("/page/call", { name, arguments: { workspace: state.workspace, id }, confirmed: true });
