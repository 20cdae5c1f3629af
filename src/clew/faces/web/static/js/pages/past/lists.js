// The contents of the workspace at a time, and the changes since: counts that are filters, and
// lists that show how many they omit.

import { changed } from "../../differences.js";
import { ago, el, shorten } from "../../dom.js";
import { STATUS } from "../../facts.js";
import { badge, nothing, recordLink, several, stateBadges } from "../../parts.js";
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
  [STATUS.CLOSED, "closed", "good"],
  [STATUS.RETRACTED, "no longer holds", "bad"],
  ["gone", "removed", "bad"],
];
const WORK = ["plan", "task", "step", "job"];

const sum = (rows) => rows.reduce((total, row) => total + row.items, 0);

// One figure for each store, with what came since; pressed, it narrows both lists.
export function figures(held, since, chosen, to) {
  return el(
    "div#held.figures-row",
    { key: "held" },
    SOURCES.map(([source, words]) => {
      const own = held.counts.filter((row) => row.source === source);
      const news = sum(since.sources.filter((row) => row.source === source));
      if (!own.length && !news) return null;
      const current = chosen === source;
      return el(
        "a.figure",
        {
          href: to({ source: current ? "" : source }),
          "aria-current": current ? "true" : null,
          key: source,
          data: { source },
        },
        el("b", sum(own).toLocaleString()),
        el("span", words),
        el("span.quiet", parts(source, own)),
        news ? el("span.quiet", `${several(news, "change")} since`) : null,
      );
    }),
  );
}

// "2 plans, 5 tasks": the kinds of a store that are most.
function parts(source, rows) {
  if (!["task", "block", "card"].includes(source)) return "";
  const kinds = new Map();
  for (const row of rows) kinds.set(row.kind, (kinds.get(row.kind) ?? 0) + row.items);
  const order = [...kinds].sort((a, b) => (source === "task" ? WORK.indexOf(a[0]) - WORK.indexOf(b[0]) : b[1] - a[1]));
  const shown = order.slice(0, 4).map(([kind, count]) => several(count, kind ?? "record"));
  return `${shown.join(", ")}${order.length > 4 ? " …" : ""}`;
}

export function changeFacets(since, chosen, to) {
  const all = Object.values(since.counts).reduce((total, count) => total + count, 0);
  const facet = (change, words, count) =>
    el(
      "a.facet",
      {
        href: to({ change }),
        "aria-current": chosen === change ? "true" : null,
        key: change || "all",
        data: { change: change || "all" },
      },
      `${words} ${count.toLocaleString()}`,
    );
  return el(
    "nav.facets",
    { "aria-label": "Kind of change", key: "facets" },
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
      { key: item.id },
      recordLink({ id: item.id, kind: iconOf(item), title: item.title }),
      stateBadges({ kind: item.kind, status: item.status }),
      when(item.ts_ms),
    ),
  );

export const changeList = (found, more) =>
  list(found, more, "change-list", "Nothing has changed since then.", (item) => {
    const [, words, tone] = CHANGES.find(([name]) => name === item.change);
    const { before, now } = item;
    return el(
      "li",
      { key: item.id, data: { change: item.change } },
      badge(words, tone),
      recordLink({ id: item.id, kind: iconOf(item), title: (now ?? before).title }),
      now && before?.status === now.status ? null : stateBadges({ kind: item.kind, status: now?.status }),
      el("span.when", item.by ? `${byWords(item.by)} · ` : "", ago(item.ts_ms)),
      before && now ? differences(before, now) : null,
    );
  });

// The difference, old and new, with the words marked that only one of them has.
function differences(before, now) {
  const differing = ["title", "text", "status"].filter((name) => (before[name] ?? "") !== (now[name] ?? ""));
  if (!differing.length) return el("p.quiet", "its other fields changed");
  return el(
    "dl.facts.changes",
    differing.flatMap((name) => [
      el("dt", name),
      el("dd", changed(shorten(before[name] || "–", 200), shorten(now[name] || "–", 200))),
    ]),
  );
}

const when = (ms) => el("span.when", "written ", ago(ms));

function list(found, more, id, none, row) {
  if (!found.items.length) return nothing(none, id);
  const left = found.total - found.items.length;
  return el(
    "div.stack.tight",
    { key: id },
    el("ul.lines.past", { id, key: "list" }, found.items.map(row)),
    left > 0
      ? el(
          "p#past-left.quiet",
          { key: "left" },
          `${found.items.length.toLocaleString()} of ${found.total.toLocaleString()} are shown. `,
          found.items.length < MOST
            ? el("button#past-more.small", { onclick: more }, "Show more")
            : "Narrow it to see the others.",
        )
      : null,
  );
}

export const MOST = 200;
