// One thought next to the graph: the whole text, its references, its critique, and the shape of the
// session.

import { call } from "../api.js";
import { ago, append, copyButton, el, replace, shorten } from "../dom.js";
import { onEscape } from "../keys.js";
import { KINDS, plainText } from "./kinds.js";

const PIECE = 10_000;
const ROOM = 4_000_000;

export class Detail {
  // onOpen(id) follows a reference; onClose() when the reader is done.
  constructor({ onOpen, onClose }) {
    this.onOpen = onOpen;
    this.onClose = onClose;
    this.element = el("aside#detail.detail", { "aria-label": "Details", hidden: true });
  }

  // The shape of the thought is available immediately, its text is loaded from the server.
  // If it was opened by a key, the focus moves into it.
  async show(model, openings, record, takesFocus = false) {
    this.record = record;
    this.element.hidden = false;
    delete this.element.dataset.whole;
    const body = el("div.whole", el("p.quiet", "Loading…"));
    replace(this.element, this.#head(model, record), body);
    if (takesFocus) /** @type {HTMLElement} */ (this.element.querySelector("button.close")).focus();
    this.release ??= onEscape(() => this.close());
    const thought = await read(model, record);
    if (this.record !== record) return;
    const references = this.#references(model, openings, record, thought);
    replace(
      body,
      facts(record, thought),
      wholeText(plainText(thought.thought)),
      asWritten(thought.thought),
      references,
      critique(thought.critique),
      el("p", copyButton(record.id, "copy id"), " ", copyButton(thought.thought, "copy text")),
    );
    this.element.dataset.whole = record.id;
  }

  close() {
    this.record = null;
    this.release?.();
    this.release = null;
    this.element.hidden = true;
    this.onClose();
  }

  // The page goes: nothing is left for Escape to close.
  end() {
    this.release?.();
  }

  #head(model, record) {
    return el(
      "header",
      el(
        "h2",
        `Thought ${record.number}`,
        record.chain ? [" on ", el("bdi", shorten(model.name(record.chain), 40))] : "",
      ),
      el("button.icon.close", { "aria-label": "Close", onclick: () => this.close() }, "×"),
    );
  }

  #references(model, openings, record, thought) {
    const items = [...links(model, record, thought)].map(([words, target]) =>
      el("li", `${words} `, this.#link(model, openings, target)),
    );
    return items.length ? el("ul.references", items) : null;
  }

  // The words of the other thought follow when they are here.
  #link(model, openings, target) {
    const where = target.chain ? `${model.name(target.chain)} ` : "";
    const button = el("button.link", { onclick: () => this.onOpen(target.id) }, el("bdi", `${where}${target.number}`));
    openings?.wait(target.index).then((opening) => {
      if (opening) append(button, [": ", el("bdi", shorten(plainText(opening.text), 40))]);
    });
    return button;
  }
}

async function read(model, record) {
  const wanted = {
    sessionId: model.session.id,
    thoughtNumber: record.number,
    branchId: record.chain || undefined,
    max_chars: ROOM,
  };
  return (await call("read_thoughts", wanted)).thoughts[0];
}

function facts(record, thought) {
  return el(
    "p.quiet",
    KINDS[record.kind]
      ? el("span", { class: `chip kind-${record.kind}` }, `${record.kind} ${KINDS[record.kind]}`)
      : null,
    " ",
    ago(thought.timestamp),
    thought.agent ? [" · ", el("bdi", thought.agent)] : "",
  );
}

// The notation of the cipher, on request.
function asWritten(text) {
  const said = String(text);
  if (plainText(said) === said) return null;
  return el(
    "details.written",
    el("summary", "As it was written"),
    el("pre.raw", { dir: "auto" }, said.slice(0, PIECE)),
  );
}

// A very long text is shown piece by piece: a browser takes minutes to lay out a megabyte that is
// meant to be difficult.
function wholeText(text) {
  const shown = el("pre.text", { dir: "auto" }, text.slice(0, PIECE));
  if (text.length <= PIECE) return shown;
  let from = 0;
  const where = el("output.quiet");
  const go = (to) => {
    from = Math.max(0, Math.min(to, Math.floor((text.length - 1) / PIECE) * PIECE));
    shown.textContent = text.slice(from, from + PIECE);
    const end = Math.min(from + PIECE, text.length);
    where.textContent = `characters ${number(from + 1)} to ${number(end)} of ${number(text.length)}`;
    earlier.disabled = from === 0;
    later.disabled = last.disabled = end === text.length;
  };
  const button = (label, title, to) =>
    el("button.small", { title, "aria-label": title, onclick: () => go(to()) }, label);
  const earlier = button("‹", "Earlier part", () => from - PIECE),
    later = button("›", "Later part", () => from + PIECE);
  const last = button("⇥", "Last part", () => text.length);
  go(0);
  return [shown, el("p#pieces.pieces", earlier, later, last, " ", where)];
}

function number(value) {
  return value.toLocaleString("en");
}

function critique(said) {
  if (!said) return null;
  return el(
    "section#critique.critique",
    el("h3", "Critique"),
    el("p.quiet", [said.status ?? "", said.model ?? ""].join(" ").trim()),
    el("pre.text", { dir: "auto" }, said.text ?? said.reason ?? ""),
  );
}

function* links(model, record, thought) {
  const revised = record.revises && model.find(record.revises);
  if (revised) yield ["revises", revised];
  for (const index of model.revisers.get(record.index) ?? []) yield ["revised by", model.order[index]];
  for (const chain of model.chains.values())
    if (chain.origin === record)
      yield [`branch ${shorten(model.name(chain.name), 40)} starts here:`, model.at(chain.name, 0)];
  for (const number of mentioned(record, thought)) {
    const target = model.find(model.id(number, record.chain)) ?? model.find(model.id(number));
    if (target && target !== record && target !== revised) yield ["refers to", target];
  }
}

// Numbers that a thought names in the cipher, such as [S3] or S12.
function mentioned(record, thought) {
  const names =
    String(thought.thought)
      .slice(0, 2 * PIECE)
      .match(/\bS(\d+)\b/g) ?? [];
  return [...new Set(names.map((name) => Number(name.slice(1))))]
    .filter((number) => number !== record.number)
    .slice(0, 30);
}
