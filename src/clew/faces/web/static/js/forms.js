// Asks for the input of an action: a few fields in a dialog, submitted by Ctrl-Enter or the button.
// The dialog stays open until the response; an error is shown in it, and the input is kept.

import { el, replace } from "./dom.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";
import { dialog } from "./keys.js";
import { notice } from "./notices.js";
import { explain, problemNotice } from "./parts.js";
import { byWords } from "./people.js";
import { picker } from "./picker.js";
import { state } from "./state.js";

/**
 * @typedef {{name: string, words: string, kind?: string, kinds?: string[], value?: string, required?: boolean,
 *   options?: [string, string][], hint?: string, rows?: number}} Field
 * @typedef {{doIt?: string, lead?: any, key?: string,
 *   ways?: (problem: any) => {words: string, also: Record<string, any>}[],
 *   refuses?: ((values: Record<string, string>) => string) | null,
 *   send?: ((values: Record<string, string>) => any) | null}} Asking
 * `send` does the action while the dialog is open; `refuses` returns a validation error in words;
 * `key` distinguishes drafts of the same dialog. `ways` offers arguments to add after a refusal,
 * such as which record is replaced.
 * @param {string} title
 * @param {Field[]} fields
 * @param {Asking} [asking]
 * @returns {Promise<any>} the result of `send`, else the values; null if it was cancelled
 */
export function askFields(title, fields, asking = {}) {
  return new Promise((resolve) => new Form(title, fields, asking, resolve).show());
}

class Form {
  /** @param {Asking} asking */
  constructor(title, fields, asking, resolve) {
    this.title = title;
    this.fields = fields;
    this.asking = asking;
    this.resolve = resolve;
    this.draft = `${state.workspace} ${asking.key ?? title}`;
    this.sending = false;
    this.answered = false;
    this.said = el("div.form-problem", { role: "alert", hidden: true });
    this.button = el("button.primary", { type: "submit" }, asking.doIt ?? title);
    this.inputs = fields.map((field) => input(field));
  }

  show() {
    const kept = this.restore();
    const { box, shut } = dialog(
      this.title,
      "ask",
      el(
        "form.stack.tight",
        {
          onsubmit: (event) => this.submit(event),
          novalidate: true,
          oninput: () => this.typed(),
          onchange: () => this.typed(),
          onkeydown: (event) => {
            const sends = event.ctrlKey || event.metaKey || event.target.matches("select");
            if (event.key === "Enter" && sends) this.submit(event);
          },
        },
        this.asking.lead,
        kept ? this.keptNote() : null,
        this.fields.map((field, index) => labelled(field, this.inputs[index])),
        this.said,
        el("div.row.send", this.button),
      ),
    );
    this.box = box;
    this.shut = shut;
    new MutationObserver((_changes, observer) => {
      if (box.isConnected) return;
      observer.disconnect();
      this.left();
    }).observe(document.body, { childList: true });
    this.inputs[0]?.focus();
    this.inputs[0]?.select?.();
  }

  get values() {
    return Object.fromEntries(this.fields.map(({ name }, index) => [name, this.inputs[index].value.trim()]));
  }

  // Only typed input is a draft; a prefilled value is not.
  typed() {
    this.inputs[0]?.setCustomValidity?.("");
    const own = this.fields.some((field, index) => !field.options && this.inputs[index].value !== (field.value ?? ""));
    if (own) keepDraft(this.draft, this.values);
    else dropDraft(this.draft);
  }

  restore() {
    const values = draftOf(this.draft);
    if (!values) return false;
    this.fields.forEach(({ name }, index) => {
      if (name in values) this.inputs[index].value = values[name];
    });
    return true;
  }

  keptNote() {
    const again = () => {
      dropDraft(this.draft);
      this.fields.forEach((field, index) => {
        this.inputs[index].value = field.value ?? field.options?.[0][0] ?? "";
      });
      note.remove();
      this.inputs[0]?.focus();
    };
    const note = el(
      "p#draft-kept.quiet",
      "This is what you typed before. ",
      el("button.link", { onclick: again }, "Start over"),
    );
    return note;
  }

  async submit(event, also = {}) {
    event?.preventDefault();
    if (this.sending) return;
    const values = { ...this.values, ...also };
    // Reported at the first field, and cleared with the next key, so that the input is kept.
    this.inputs[0]?.setCustomValidity?.(this.asking.refuses?.(values) ?? "");
    const form = /** @type {HTMLFormElement} */ (this.box.querySelector("form"));
    if (!form.reportValidity()) return;
    this.busy(true);
    try {
      const result = this.asking.send ? await this.asking.send(values) : values;
      // A required name that is missing is not submitted.
      if (result === false) return;
      this.answered = true;
      dropDraft(this.draft);
      this.shut();
      this.resolve(result);
    } catch (problem) {
      this.failed(problem);
    } finally {
      this.busy(false);
    }
  }

  busy(is) {
    this.sending = is;
    this.button.ariaDisabled = is ? "true" : null;
    if (is) this.said.hidden = true;
  }

  failed(problem) {
    keepDraft(this.draft, this.values);
    if (!this.box.isConnected) {
      problemNotice(problem);
      this.resolve(null);
      return;
    }
    const ways = this.asking.ways?.(problem) ?? [];
    const against = problem.envelope?.error?.details?.contradicts ?? [];
    replace(
      this.said,
      against.length ? against.map(opposite) : explain(problem),
      el(
        "p.row",
        ways.map(({ words, also }) => el("button", { onclick: () => this.submit(null, also) }, words)),
      ),
    );
    this.said.hidden = false;
    this.said.scrollIntoView({ block: "nearest" });
  }

  // Closed by Escape, by its button or by a click outside of it.
  left() {
    if (this.answered || this.sending) return;
    if (draftOf(this.draft)) notice("What you typed is kept: it is there when you open this again.");
    this.resolve(null);
  }
}

// The other record, so that both can be read before deciding which one is valid.
const opposite = ({ text, why, by, reason }) =>
  el(
    "div",
    el("p", el("strong", "It would contradict "), `“${text}”. ${reason}.`),
    el("p", why ? `Why: ${why} ` : "No reason was given. ", el("span.quiet", `(${byWords(by)})`)),
  );

function input(field) {
  const id = `ask-${field.name}`;
  if (field.kind === "record") {
    const node = picker(field, id);
    if (field.value) node.value = field.value;
    return node;
  }
  if (field.options)
    return el(
      "select",
      { id },
      field.options.map(([value, words]) => el("option", { value, selected: value === field.value }, words)),
    );
  const tag = field.rows ? "textarea" : "input";
  const node = el(tag, {
    id,
    rows: field.rows,
    type: field.rows ? null : (field.kind ?? "text"),
    required: field.required ?? false,
    maxlength: 20_000,
    autocomplete: "off",
  });
  node.value = field.value ?? "";
  return node;
}

function labelled(field, node) {
  return el(
    "div.field",
    el("label", { for: `ask-${field.name}` }, field.words),
    node,
    field.hint ? el("p.quiet", field.hint) : null,
  );
}
