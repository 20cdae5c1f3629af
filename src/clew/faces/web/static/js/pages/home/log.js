// The log as it grows. It begins with what was there already.

import { ago, el, shorten } from "../../dom.js";
import { card, nothing } from "../../parts.js";
import { describe } from "../../happenings.js";

const KEPT = 60;

export class LogLines {
  constructor() {
    this.events = new Map();
    this.names = new Map();
  }

  take(events, names = this.names) {
    this.names = names;
    for (const event of events) this.events.set(event.seq, event);
    const newest = [...this.events.keys()].sort((a, b) => b - a);
    for (const seq of newest.slice(KEPT)) this.events.delete(seq);
    this.shown = newest.slice(0, KEPT).map((seq) => this.events.get(seq));
  }
}

export function logCard(log) {
  return card("As it happens", { id: "log-card" },
    log.shown.length ? el("ol", { class: "lines scroll", id: "log", data: { key: "log", list: "" }, tabindex: "0", "aria-label": "Events, the newest first" }, log.shown.map((event) => row(event, log.names))) : nothing("Whatever any process writes appears here."));
}

function row(event, names) {
  const line = describe(event, names);
  const text = shorten(line.text || line.subject, 110);
  return el("li", { data: { key: event.seq, type: event.type } }, ago(event.ts_ms), el("span", { class: "what" }, el("strong", {}, line.said), " ", line.href ? el("a", { href: line.href }, text) : text),
    event.agent ? el("span", { class: "when" }, event.agent) : null);
}
