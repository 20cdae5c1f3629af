// The log as it grows. It begins with what was there already, says how much is older, and goes back
// as far as one wants.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { describe, olderWords } from "../../happenings.js";
import { card, nothing, problemNotice } from "../../parts.js";
import { byWords } from "../../people.js";
import { swap } from "../../redraw.js";
import { ROOM } from "./gather.js";

const KEPT = 60;

class LogLines {
  constructor() {
    this.events = new Map();
    this.names = new Map();
    this.kept = KEPT;
    this.older = 0;
    /** How many minutes back lines are shown; null: all there are. */
    this.minutes = null;
  }

  // What falls into the period that was chosen.
  get inPeriod() {
    if (this.minutes === null) return this.shown;
    const from = Date.now() - this.minutes * 60_000;
    return this.shown.filter(({ ts_ms: at }) => at >= from);
  }

  // The newest events as the server lists them. What joins none of the lines shown leaves a gap, so
  // it takes their place.
  begin({ events, left_out }, names) {
    this.names = names;
    if (!events.some(({ seq }) => this.events.has(seq))) {
      this.events.clear();
      this.older = left_out;
    }
    this.take(events);
  }

  // Those before the oldest one shown; from now on so many more are kept.
  goBack({ events, left_out }) {
    this.kept += KEPT;
    this.older = left_out;
    this.take(events);
  }

  take(events) {
    for (const event of events) this.events.set(event.seq, event);
    const newest = [...this.events.keys()].sort((a, b) => b - a);
    for (const seq of newest.slice(this.kept)) this.events.delete(seq);
    this.older += Math.max(0, newest.length - this.kept);
    this.shown = newest.slice(0, this.kept).map((seq) => this.events.get(seq));
  }

  get page() {
    return { before: this.shown.at(-1).seq, limit: KEPT };
  }
}

// The log of a page that is drawn now and then, while its lines appear at once.
export function liveLog() {
  const lines = new LogLines();
  const draw = () => {
    const old = document.getElementById("log-card");
    if (old) swap(old, logCard(lines, goBack));
  };
  const goBack = async () => {
    try {
      lines.goBack(await call("events_list", { ...lines.page, max_chars: ROOM }));
      draw();
    } catch (problem) {
      problemNotice(problem);
    }
  };
  return {
    begin: ({ newest, names }, minutes = null) => {
      lines.minutes = minutes;
      lines.begin(newest, names);
    },
    card: () => logCard(lines, goBack),
    // For keepDrawn: every event is a line, and may change the rest of the page.
    news: (event) => {
      lines.take([event]);
      draw();
      return true;
    },
  };
}

function logCard(log, goBack) {
  const shown = log.inPeriod;
  // Beyond the period there is nothing to go back to.
  const isCut = shown.length < log.shown.length;
  return card(
    "As it happens",
    { id: "log-card" },
    shown.length
      ? el(
          "ol",
          {
            class: "lines scroll",
            id: "log",
            data: { key: "log", list: "" },
            tabindex: "0",
            "aria-label": "Events, the newest first",
          },
          shown.map((event) => row(event, log.names)),
        )
      : nothing(isCut ? "Nothing in this time." : "Whatever any process writes appears here."),
    isCut
      ? el(
          "p",
          { class: "quiet", id: "log-outside", data: { key: "outside" } },
          "What is older lies outside the time that is chosen above.",
        )
      : null,
    log.older && !isCut
      ? el(
          "p",
          { class: "quiet", id: "log-older", data: { key: "older" } },
          `${olderWords(log.older)} `,
          el(
            "button",
            { type: "button", class: "small", id: "log-back", onclick: goBack },
            "Show more",
          ),
        )
      : null,
  );
}

function row(event, names) {
  const line = describe(event, names);
  const text = shorten(line.text || line.subject, 110);
  return el(
    "li",
    { data: { key: event.seq, type: event.type } },
    ago(event.ts_ms),
    el(
      "span",
      { class: "what" },
      el("strong", {}, line.said),
      " ",
      line.href ? el("a", { href: line.href }, text) : text,
    ),
    event.agent ? el("span", { class: "when" }, byWords(event.agent)) : null,
  );
}
