// Asks for what an action needs: a few fields in a dialog, sent by Ctrl-Enter or the button.

import { el } from "./dom.js";
import { dialog } from "./keys.js";

/**
 * @typedef {{name: string, words: string, kind?: string, value?: string, required?: boolean,
 *   options?: [string, string][], hint?: string, rows?: number}} Field
 * @param {string} title
 * @param {Field[]} fields
 * @param {string} [doIt] the words of the button
 * @param {any} [lead] what stands above the fields
 * @param {((values: Record<string, string>) => string) | null} [refuses] what is wrong with it, in words
 * @returns {Promise<Record<string, string> | null>} what was filled in; null when it was left
 */
export function askFields(title, fields, doIt = title, lead = null, refuses = null) {
  return new Promise((resolve) => {
    const inputs = fields.map(input);
    let answered = false;
    const submit = (event) => {
      event?.preventDefault();
      const form = /** @type {HTMLFormElement} */ (box.querySelector("form"));
      const values = Object.fromEntries(
        fields.map(({ name }, index) => [name, inputs[index].value.trim()]),
      );
      // Said at the first field, and taken back with the next key, so that what was typed stays.
      inputs[0]?.setCustomValidity(refuses?.(values) ?? "");
      if (!form.reportValidity()) return;
      answered = true;
      shut();
      resolve(values);
    };
    const { box, shut } = dialog(
      title,
      "ask",
      el(
        "form",
        {
          class: "stack tight",
          onsubmit: submit,
          novalidate: true,
          oninput: () => inputs[0]?.setCustomValidity(""),
          onkeydown: (event) => {
            const sends = event.ctrlKey || event.metaKey || event.target.matches("select");
            if (event.key === "Enter" && sends) submit(event);
          },
        },
        lead,
        fields.map((field, index) => labelled(field, inputs[index])),
        el("div", { class: "row" }, el("button", { class: "primary" }, doIt)),
      ),
    );
    new MutationObserver((_changes, observer) => {
      if (box.isConnected) return;
      observer.disconnect();
      if (!answered) resolve(null);
    }).observe(document.body, { childList: true });
    inputs[0]?.focus();
    inputs[0]?.select?.();
  });
}

function input(field) {
  const id = `ask-${field.name}`;
  if (field.options)
    return el(
      "select",
      { id },
      field.options.map(([value, words]) =>
        el("option", { value, selected: value === field.value }, words),
      ),
    );
  const tag = field.rows ? "textarea" : "input";
  const node = el(tag, {
    id,
    rows: field.rows,
    type: field.rows ? null : (field.kind ?? "text"),
    required: field.required ?? false,
    maxlength: 4000,
    autocomplete: "off",
  });
  node.value = field.value ?? "";
  return node;
}

function labelled(field, node) {
  return el(
    "div",
    { class: "field" },
    el("label", { for: node.id }, field.words, field.required ? "" : ""),
    node,
    field.hint ? el("p", { class: "quiet" }, field.hint) : null,
  );
}
