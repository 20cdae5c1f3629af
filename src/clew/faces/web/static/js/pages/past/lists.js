// What the workspace held at a moment, and what became of it: counts that are filters, and lists
// that say what they leave out.

import { ago, el, shorten } from "../../dom.js";
import { marked } from "../../inbox/detail.js";
import { badge, nothing, recordLink, several, statusBadge } from "../../parts.js";
import { byWords } from "../../people.js";

/** @type {[string, string][]} */
export const SOURCES = [
  ["task", "Work"],
  ["block", "Records"],
  ["card", "Cards"],
  ["thought", "Thoughts"],
  ["note", "Notes"],
  ["evidence", "Evidence"],
  ["pattern", "Patterns"],
];
/** @type {[string, string, string][]} */
export const CHANGES = [
  ["added", "added", "good"],
  ["changed", "changed", "info"],
  ["closed", "closed", "good"],
  ["retracted", "taken back", "bad"],
  ["gone", "removed", "bad"],
];
const WORK = ["plan", "task", "step", "job"];

const sum = (rows) => rows.reduce((total, row) => total + row.items, 0);

// One figure for each store, with what came since; pressed, it narrows both lists.
export function figures(held, since, chosen, to) {
  return el(
    "div",
    { class: "figures-row", id: "held", data: { key: "held", list: "" } },
    SOURCES.map(([source, words]) => {
      const own = held.counts.filter((row) => row.source === source);
      const news = sum(since.sources.filter((row) => row.source === source));
      if (!own.length && !news) return null;
      const current = chosen === source;
      return el(
        "a",
        {
          class: "figure",
          href: to({ source: current ? "" : source }),
          "aria-current": current ? "true" : null,
          data: { key: source, source },
        },
        el("b", {}, sum(own).toLocaleString()),
        el("span", {}, words),
        el("span", { class: "quiet" }, parts(source, own)),
        news ? el("span", { class: "quiet" }, `${several(news, "change")} since`) : null,
      );
    }),
  );
}

// "2 plans, 5 tasks": the kinds of a store that are most.
function parts(source, rows) {
  if (!["task", "block", "card"].includes(source)) return "";
  const kinds = new Map();
  for (const row of rows) kinds.set(row.kind, (kinds.get(row.kind) ?? 0) + row.items);
  const order = [...kinds].sort((a, b) =>
    source === "task" ? WORK.indexOf(a[0]) - WORK.indexOf(b[0]) : b[1] - a[1],
  );
  const shown = order.slice(0, 4).map(([kind, count]) => several(count, kind ?? "record"));
  return `${shown.join(", ")}${order.length > 4 ? " …" : ""}`;
}

export function changeFacets(since, chosen, to) {
  const all = Object.values(since.counts).reduce((total, count) => total + count, 0);
  const facet = (change, words, count) =>
    el(
      "a",
      {
        class: "facet",
        href: to({ change }),
        "aria-current": chosen === change ? "true" : null,
        data: { key: change || "all", change: change || "all" },
      },
      `${words} ${count.toLocaleString()}`,
    );
  return el(
    "nav",
    { class: "facets", "aria-label": "Kind of change", data: { key: "facets" } },
    facet("", "all", all),
    CHANGES.filter(([change]) => since.counts[change]).map(([change, words]) =>
      facet(change, words, since.counts[change]),
    ),
  );
}

const iconOf = (item) => (item.source === "card" ? (item.type ?? "card") : item.kind);

export const heldList = (found, more) =>
  list(found, more, "held-list", "Nothing was there yet.", (item) =>
    el(
      "li",
      { data: { key: item.id } },
      recordLink({ id: item.id, kind: iconOf(item), title: item.title }),
      statusBadge(item.status),
      when(item.ts_ms),
    ),
  );

export const changeList = (found, more) =>
  list(found, more, "change-list", "Nothing has changed since then.", (item) => {
    const [, words, tone] = CHANGES.find(([name]) => name === item.change);
    const { before, now } = item;
    return el(
      "li",
      { data: { key: item.id, change: item.change } },
      badge(words, tone),
      recordLink({ id: item.id, kind: iconOf(item), title: (now ?? before).title }),
      now && before?.status === now.status ? null : statusBadge(now?.status),
      el("span", { class: "when" }, item.by ? `${byWords(item.by)} · ` : "", ago(item.ts_ms)),
      before && now ? differences(before, now) : null,
    );
  });

// What differs, old and new, with the words marked that only one of them has.
function differences(before, now) {
  const differing = ["title", "text", "status"].filter(
    (name) => (before[name] ?? "") !== (now[name] ?? ""),
  );
  if (!differing.length) return el("p", { class: "quiet" }, "its other fields changed");
  return el(
    "dl",
    { class: "facts changes" },
    differing.flatMap((name) => [
      el("dt", {}, name),
      el("dd", {}, marked(shorten(before[name] || "–", 200), shorten(now[name] || "–", 200))),
    ]),
  );
}

const when = (ms) => el("span", { class: "when" }, "written ", ago(ms));

function list(found, more, id, none, row) {
  if (!found.items.length) return nothing(none, id);
  const left = found.total - found.items.length;
  return el(
    "div",
    { class: "stack tight", data: { key: id } },
    el("ul", { class: "lines past", id, data: { key: "list", list: "" } }, found.items.map(row)),
    left > 0
      ? el(
          "p",
          { class: "quiet", id: "past-left", data: { key: "left" } },
          `${found.items.length.toLocaleString()} of ${found.total.toLocaleString()} are shown. `,
          found.items.length < MOST
            ? el(
                "button",
                { type: "button", class: "small", id: "past-more", onclick: more },
                "Show more",
              )
            : "Narrow it to see the others.",
        )
      : null,
  );
}

export const MOST = 200;
