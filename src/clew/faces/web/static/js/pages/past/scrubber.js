// The slider over the whole life of a workspace. Each of its steps is one event; it shows the date
// of each, and the page below shows the workspace at the selected time.

import { el } from "../../dom.js";
import { happened } from "../../happenings.js";
import { byWords } from "../../people.js";

const HOUR = 3_600_000;
const PAUSE = 120;
// Width of a date below the slider in pixels, and the width next to the slider on a phone.
const TICK = 64,
  BUTTONS = 160;
const PRESETS = [
  ["An hour ago", HOUR],
  ["Yesterday", 24 * HOUR],
  ["A week ago", 7 * 24 * HOUR],
];

export const dateWords = (ms) =>
  new Date(ms).toLocaleString(undefined, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });

export class Scrubber {
  /** @param {(asked: {event?: number, as_of?: string}) => void} choose what to show now */
  constructor(choose) {
    this.choose = choose;
    this.marks = [];
    this.timer = 0;
    this.range = /** @type {HTMLInputElement} */ (
      el("input#as-of", {
        type: "range",
        min: 0,
        max: 0,
        step: 1,
        "aria-label": "The moment that is shown",
        oninput: () => this.slid(),
      })
    );
    this.when = el("output#moment.moment-date", { for: "as-of" });
    this.said = el("p#moment-event.quiet");
    this.day = /** @type {HTMLInputElement} */ (
      el("input#moment-day", {
        type: "datetime-local",
        step: 1,
        "aria-label": "Go to a date and time",
        onchange: () => this.day.value && choose({ as_of: new Date(this.day.value).toISOString() }),
      })
    );
    this.ticks = el("div.ticks", { "aria-hidden": "true" });
    this.element = el(
      "section.card.scrubber",
      { "aria-label": "Moment" },
      el("div", this.when, this.said),
      this.#buttons(),
      el(
        "div.row.slide",
        this.#step(-1, "One event back", "‹"),
        el("div.track", this.range, this.ticks),
        this.#step(1, "One event on", "›"),
      ),
    );
  }

  #buttons() {
    const go = (words, asked, id) => el("button.small", { id, onclick: () => this.choose(asked()) }, words);
    return el(
      "div.row.end",
      PRESETS.map(([words, back]) => go(words, () => ({ as_of: new Date(Date.now() - Number(back)).toISOString() }))),
      this.day,
      go("Now", () => ({}), "to-now"),
    );
  }

  #step(by, words, sign) {
    const move = () => {
      this.range.value = String(Number(this.range.value) + by);
      this.slid();
    };
    return el("button.icon", { "aria-label": words, onclick: move }, sign);
  }

  // While dragging, an interpolated date is close enough; the response gives the exact one.
  slid() {
    const event = Number(this.range.value);
    this.#say(this.#guess(event));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.choose({ event });
    }, PAUSE);
  }

  #guess(event) {
    const after = this.marks.findIndex(([seq]) => seq >= event);
    if (after <= 0) return this.marks[0]?.[1] ?? Date.now();
    const [low, high] = [this.marks[after - 1], this.marks[after]];
    return low[1] + ((high[1] - low[1]) * (event - low[0])) / Math.max(1, high[0] - low[0]);
  }

  #say(ms) {
    const words = ms ? dateWords(ms) : "Before anything was written";
    this.when.textContent = words;
    this.range.setAttribute("aria-valuetext", words);
  }

  // Applies the server's response; the slider is not moved while dragging, or a late response would
  // undo a step made meanwhile.
  show({ moment, marks }, title = "") {
    this.marks = marks.length ? marks : this.marks;
    this.range.max = String(moment.last_event);
    if (!this.timer && !this.range.matches(":active")) {
      this.range.value = String(moment.event);
      this.#say(moment.ts_ms);
    }
    this.said.textContent = moment.now ? "Now: this is the last thing that happened." : whatHappened(moment, title);
    if (this.day !== document.activeElement && moment.ts_ms) this.day.value = local(moment.ts_ms);
    // Before it is drawn the slider has no width; its buttons are next to it.
    const room = (100 * TICK) / (this.ticks.clientWidth || innerWidth - BUTTONS);
    this.ticks.replaceChildren(...dayTicks(this.marks, moment.last_event, room));
  }

  end() {
    clearTimeout(this.timer);
  }
}

function whatHappened({ happened: event, event: number, last_event: last }, title) {
  const since = `${last - number} ${last - number === 1 ? "event" : "events"} since then`;
  if (!event) return since;
  const text = event.payload?.title || title;
  const by = event.agent ? ` by ${byWords(event.agent)}` : "";
  return `Right after: ${happened(event)}${text ? ` “${text.slice(0, 80)}”` : ""}${by} · ${since}`;
}

const local = (ms) => {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};

// Positions of new days, from the known times; as many as fit without overlapping labels. `room` is
// the width of a date in percent of the slider.
function dayTicks(marks, last, room) {
  const ticks = [];
  let before = "";
  for (const [seq, ms] of marks) {
    const words = new Date(ms).toLocaleDateString(undefined, { day: "numeric", month: "short" });
    const place = (100 * seq) / Math.max(1, last);
    const free = !ticks.length || place - ticks.at(-1).place >= room;
    if (words !== before && free && place <= 100 - room) ticks.push({ words, place });
    before = words;
  }
  return ticks.map(({ words, place }) => {
    const tick = el("span", words);
    tick.style.left = `${place}%`;
    return tick;
  });
}
