// The signed-in person, with a one-time code from a terminal. The server knows the name, and uses
// it as the author of all actions; agents cannot get such a code.

import { keepKey, send } from "./api.js";
import { el } from "./dom.js";
import { dialog } from "./keys.js";
import { state } from "./state.js";

export const isMe = (agent) => Boolean(agent) && agent === state.person;

export const isPerson = (agent) => String(agent ?? "").startsWith("@");

// "you" for the user, else the name of the client; "unknown" if there is none.
export const byWords = (agent) => (isMe(agent) ? "you" : clientOf(agent) || "unknown");

// `claude-code-7` is a connection of claude-code: show the client.
export const clientOf = (agent) => {
  const [, client] = /^(.+)-\d+$/.exec(agent ?? "") ?? [];
  return client && state.clients?.includes(client) ? client : agent;
};

// Accepts a code, or the token of the server, which only allows reading.
export async function signIn(code) {
  const answer = await send("/page/login", { code });
  keepKey(answer.key);
  state.person = answer.person ?? "";
  window.dispatchEvent(new Event("clew-name"));
  return state.person;
}

// A link of `clew login` contains the code after the #, where no server sees it. It is removed from
// the address immediately, because it can be used only once.
export async function signInByLink() {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(history.state, "", location.pathname);
  await signIn(code).catch(() => {});
}

/** @type {Promise<boolean> | null} */
let asking = null;

// Called before the first action. Resolves to whether a person is signed in now.
export function named() {
  if (state.person) return Promise.resolve(true);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}

export function ask() {
  return new Promise((resolve) => {
    const input = el("input#sign-in-code", {
      required: true,
      maxlength: 60,
      autocomplete: "one-time-code",
      "aria-describedby": "sign-in-why",
    });
    const said = el("p.bad", { role: "alert" });
    const done = async (event) => {
      event.preventDefault();
      said.textContent = "";
      try {
        if (await signIn(input.value)) return shut();
        said.textContent = "That is the token of the agents. A person signs in with a code.";
      } catch (problem) {
        said.textContent = problem.message;
      }
      input.select();
    };
    const { box, shut } = dialog(
      "Sign in",
      "who",
      el(
        "form.stack.tight",
        { onsubmit: done },
        el(
          "p#sign-in-why",
          "Agents propose, people decide. Run ",
          el("code", `${state.command} login`),
          " in a terminal where the server runs, and type the code that it prints. What you approve, settle or write is kept with your name.",
        ),
        el("label", { for: "sign-in-code" }, "Code"),
        input,
        said,
        el("div", el("button.primary", { type: "submit" }, "Sign in")),
      ),
    );
    new MutationObserver((_changes, observer) => {
      if (box.isConnected) return;
      observer.disconnect();
      resolve(Boolean(state.person));
    }).observe(document.body, { childList: true });
    input.focus();
  });
}
