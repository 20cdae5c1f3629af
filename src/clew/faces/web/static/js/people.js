// Who sits here: a name asked for once, kept in this browser, sent as the author of what is done.

import { el } from "./dom.js";
import { dialog } from "./keys.js";
import { remember, remembered, state } from "./state.js";

// As the store keeps authors: small letters, digits, dots and hyphens.
export function authorOf(name) {
  return String(name)
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-._]+|[-._]+$/g, "")
    .slice(0, 64);
}

export function recallName() {
  state.person = remembered("name", "");
}

export const author = () => authorOf(state.person);

export const isMe = (agent) => Boolean(agent) && agent === author();

// "you" for oneself, else the name; nobody is shown as an empty place.
export const byWords = (agent) => (isMe(agent) ? "you" : agent || "somebody unnamed");

export function keepName(name) {
  state.person = String(name).trim();
  remember("name", state.person);
  window.dispatchEvent(new Event("clew-name"));
}

/** @type {Promise<boolean> | null} */
let asking = null;

// Before the first thing somebody does. Resolves to whether there is a name now.
export function named() {
  if (author()) return Promise.resolve(true);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}

export function ask() {
  return new Promise((resolve) => {
    const input = el("input", {
      id: "your-name",
      required: true,
      maxlength: 60,
      autocomplete: "name",
      "aria-describedby": "your-name-why",
      value: state.person,
    });
    const said = el("p", { class: "bad", role: "alert" });
    const done = (event) => {
      event.preventDefault();
      if (!authorOf(input.value)) {
        said.textContent = "Use at least one letter or digit.";
        return;
      }
      keepName(input.value);
      shut();
      resolve(true);
    };
    const { box, shut } = dialog(
      "Who are you?",
      "who",
      el(
        "form",
        { class: "stack tight", onsubmit: done },
        el(
          "p",
          { id: "your-name-why" },
          "What you approve, settle or write is kept with your name, so that others know whom to ask. This browser remembers it.",
        ),
        el("label", { for: "your-name" }, "Your name"),
        input,
        said,
        el("div", {}, el("button", { class: "primary" }, "Continue")),
      ),
    );
    new MutationObserver((_changes, observer) => {
      if (box.isConnected) return;
      observer.disconnect();
      resolve(Boolean(author()));
    }).observe(document.body, { childList: true });
    input.focus();
  });
}
