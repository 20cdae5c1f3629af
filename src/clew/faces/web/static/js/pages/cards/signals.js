// What the engine says about the cards, and what it would do next.

import { el } from "../../dom.js";
import { badge, callText, card, command } from "../../parts.js";
import { fold } from "../../redraw.js";

const TONES = { critical: "bad", high: "bad", warning: "warn", medium: "warn" };

export function signalsCard(engine, open) {
  const signals = engine?.signals ?? [];
  if (!signals.length) return null;
  const more = (engine.signals_total ?? signals.length) - signals.length;
  return card(
    "What the engine says",
    { id: "signals", count: engine.signals_total ?? signals.length },
    el(
      "ul",
      { class: "lines" },
      signals.map((signal) => row(signal, open)),
    ),
    more > 0 ? el("p", { class: "quiet" }, `and ${more} more`) : null,
    engine.actions?.length
      ? fold("engine actions", "What it would do", engine.actions.slice(0, 4).map(action))
      : null,
  );
}

// In words, which lead to the card that they are about.
function row(signal, open) {
  const [ref] = signal.refs ?? [];
  const said = signal.message;
  return el(
    "li",
    { data: { code: signal.code }, title: signal.code },
    badge(signal.severity, TONES[signal.severity] ?? "info"),
    ref
      ? el("button", { type: "button", class: "link what", onclick: () => open(ref) }, said)
      : el("span", { class: "what" }, said),
  );
}

function action(item) {
  const first = item.calls?.[0];
  return el(
    "div",
    { class: "stack tight" },
    el(
      "p",
      {},
      el("strong", {}, item.title),
      item.why ? el("span", { class: "quiet" }, ` ${item.why}`) : null,
    ),
    first ? command(callText(first.target, first.params)) : null,
  );
}
