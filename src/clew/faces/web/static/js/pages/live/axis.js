// The axis: one row for each worker, time from left to right, now at the right edge. A mark is a
// piece of time in which somebody wrote, its height how much, its colour about what; a bar is a
// session or a job. The table below says the same in words.

import { ago, el, shorten } from "../../dom.js";
import { icon, kindWord } from "../../kinds.js";
import { badge, nothing, several } from "../../parts.js";
import { isMe } from "../../people.js";
import { link } from "../../router.js";

/** @type {[string, string, number][]} */
export const SPANS = [
  ["hour", "Last hour", 60],
  ["day", "Last day", 24 * 60],
  ["week", "Last week", 7 * 24 * 60],
];
const TOPICS = {
  tasks: ["work", "work"],
  jobs: ["jobs", "work"],
  ledger: ["thoughts", "thought"],
  memory: ["memory", "memory"],
  records: ["memory", "memory"],
  reasoning: ["cards and notes", "card"],
};
const colourOf = (topic) => TOPICS[topic]?.[1] ?? "other";
const LEGEND = [
  ["work", "work and jobs"],
  ["memory", "memory"],
  ["card", "cards and notes"],
  ["thought", "thoughts"],
];
const OTHER = ["other", "anything else"];
const MINUTE = 60_000,
  HOUR = 60 * MINUTE;
// Up to which width of the axis which steps are named: ten minutes of an hour, hours of a day, the
// days of a week.
const STEPS = [
  [2 * HOUR, 10 * MINUTE],
  [36 * HOUR, 3 * HOUR],
  [Infinity, 24 * HOUR],
];
// Next to "now" there is no room for another name.
const LAST = 0.93;

export function axis(workers, line, span) {
  const width = line.to_ms - line.from_ms;
  const most = Math.max(1, ...workers.flatMap(({ pieces }) => [...perSlot(pieces).values()]));
  return el(
    "section",
    { class: "card axis", id: "axis", data: { key: "axis", list: "" } },
    el(
      "header",
      { data: { key: "head" } },
      el("h2", {}, "Who did what, and when"),
      el("nav", { class: "facets end", "aria-label": "How far back" }, SPANS.map(spanLink(span))),
    ),
    workers.length
      ? el(
          "div",
          { class: "rows", data: { key: "rows", list: "" }, "aria-hidden": "true" },
          workers.map((worker) => row(worker, line, width, most)),
          scale(line, width),
        )
      : nothing("Nobody has written in this time."),
    el(
      "p",
      { class: "axis-legend quiet", data: { key: "legend" } },
      [...LEGEND, ...(hasOther(workers) ? [OTHER] : [])].map(([name, words]) =>
        el("span", {}, el("i", { class: `axis-mark topic-${name}` }), words),
      ),
      el("span", {}, el("i", { class: "axis-bar-mark live" }), "a session or job that goes on"),
      el("span", {}, el("i", { class: "axis-bar-mark" }), "one that has ended"),
      line.has_more
        ? `The ${line.rows.length} last of ${several(line.agents, "author")} are shown.`
        : "",
      line.older_left_out ? " Older events of this time are left out." : "",
    ),
  );
}

/** @type {(chosen: string) => (span: [string, string, number]) => any} */
const spanLink =
  (chosen) =>
  ([name, words]) =>
    el(
      "a",
      {
        class: "facet",
        href: link("now", "live", { span: name === "hour" ? "" : name }),
        "aria-current": name === chosen ? "true" : null,
        data: { key: name, span: name },
      },
      words,
    );

const hasOther = (workers) =>
  workers.some(({ pieces }) => pieces.some(({ topic }) => colourOf(topic) === "other"));

function perSlot(pieces) {
  const slots = new Map();
  for (const { slot, events } of pieces) slots.set(slot, (slots.get(slot) ?? 0) + events);
  return slots;
}

function row(worker, line, width, most) {
  return el(
    "div",
    {
      class: `axis-row ${worker.active ? "" : "absent"}`,
      data: { key: `${worker.kind} ${worker.name}`, lane: worker.name },
    },
    el("span", { class: "who" }, icon(worker.kind), " ", shorten(worker.words, 26)),
    el(
      "div",
      { class: "axis-time" },
      worker.bars.map((bar) => barOf(bar, line, width)),
      marks(worker.pieces, line, width, most),
    ),
  );
}

const percent = (part, whole) => `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;

function barOf(bar, line, width) {
  if (bar.to < line.from_ms) return null;
  const from = Math.max(bar.from, line.from_ms);
  const node = el("a", {
    class: `axis-bar ${bar.open ? "live" : ""}`,
    href: bar.href,
    title: bar.words,
    tabindex: "-1",
  });
  node.style.left = percent(from - line.from_ms, width);
  node.style.width = percent(Math.max(bar.to - from, width / 200), width);
  return node;
}

// Marks of one piece of time lie on each other, the largest below.
function marks(pieces, line, width, most) {
  const slots = perSlot(pieces);
  return [...slots].map(([slot, events]) => {
    const own = pieces.filter((piece) => piece.slot === slot);
    const main = own.reduce((best, piece) => (piece.events > best.events ? piece : best));
    const at = line.from_ms + slot * line.slot_ms;
    const about = own.map(({ topic, events: count }) => `${count} ${TOPICS[topic]?.[0] ?? topic}`);
    const node = el("a", {
      class: `axis-mark topic-${colourOf(main.topic)}`,
      href: link("history", { at: new Date(at + line.slot_ms).toISOString() }),
      title: `${new Date(at).toLocaleTimeString()}: ${several(events, "event")} (${about.join(", ")})`,
      tabindex: "-1",
    });
    node.style.left = percent(at - line.from_ms, width);
    node.style.width = percent(line.slot_ms * 0.85, width);
    node.style.height = `${Math.round(30 + (70 * Math.log1p(events)) / Math.log1p(most))}%`;
    return node;
  });
}

function scale(line, width) {
  return el(
    "div",
    { class: "axis-row axis-scale", data: { key: "scale" } },
    el("span", { class: "who" }),
    el(
      "div",
      { class: "axis-time" },
      ticks(line, width).map(([at, words]) => {
        const tick = el("span", {}, words);
        tick.style.left = percent(at - line.from_ms, width);
        return tick;
      }),
      el("span", { class: "axis-now" }, "now"),
    ),
  );
}

// Whole minutes, hours and days of the reader's own clock, none left out.
function ticks(line, width) {
  const [, step] = STEPS.find(([most]) => width <= most);
  const words = (ms) =>
    step < 24 * HOUR
      ? new Date(ms).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })
      : new Date(ms).toLocaleDateString(undefined, { weekday: "short", day: "numeric" });
  const at = new Date(line.from_ms);
  at.setHours(0, 0, 0, 0);
  const found = [];
  // By the calendar, not by adding up hours: a day may have 23 or 25 of them.
  while (at.getTime() < line.from_ms + width * LAST) {
    if (at.getTime() >= line.from_ms) found.push([at.getTime(), words(at.getTime())]);
    if (step < 24 * HOUR) at.setTime(at.getTime() + step);
    else at.setDate(at.getDate() + 1);
  }
  return found;
}

// The same for who reads the screen or wants the words: who, how it stands, what came last.
export function workersTable(workers) {
  const rows = workers.map((worker) =>
    el(
      "tr",
      { data: { key: `${worker.kind} ${worker.name}`, worker: worker.name } },
      el(
        "th",
        { scope: "row" },
        el("span", { class: `dot ${worker.active ? "active" : ""}` }),
        " ",
        el("a", { href: worker.href }, shorten(worker.words, 60)),
      ),
      el("td", {}, isMe(worker.name) ? "you" : kindWord(worker.kind)),
      el("td", {}, badge(worker.state, worker.active ? "good" : "")),
      el(
        "td",
        { class: "what" },
        worker.textHref
          ? el("a", { href: worker.textHref }, shorten(worker.text, 110))
          : shorten(worker.text, 110),
      ),
      el("td", { class: "when" }, ago(worker.at)),
    ),
  );
  return el(
    "section",
    { class: "card", id: "workers", data: { key: "workers" } },
    el("h2", {}, "Who is working"),
    workers.length
      ? el(
          "table",
          { class: "table" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ["Who", "What it is", "State", "Last", "When"].map((words) =>
                el("th", { scope: "col" }, words),
              ),
            ),
          ),
          el("tbody", { data: { key: "rows", list: "" } }, rows),
        )
      : nothing(
          "No agent has written in this time. Agents are told apart by their client's name or CLEW_AGENT_ID; runners by clew runner.",
        ),
  );
}
