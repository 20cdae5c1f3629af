// What one branch has that another has not: cards with their changed fields, links, notes.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { mergeButton } from "../../merge.js";
import { badge, card, chip, diffView, nothing, teach } from "../../parts.js";
import { go } from "../../router.js";
import { chooser } from "../cards.js";
import { branchOf } from "./scope.js";

const FIELDS = ["type", "title", "status", "text", "tags"];
const MOST = 100;

export async function diffParts(from, asked, names) {
  const to = asked ?? names.find((name) => name !== from);
  if (!to)
    return [
      teach(
        "Only one branch",
        "A difference needs two. A branch costs nothing: nothing is copied.",
        "clew call branch_create name=what-if from=main",
      ),
    ];
  const pair = { from: branchOf(from), to: branchOf(to), limit: MOST, max_chars: 1_000_000 };
  const [cards, notes] = await Promise.all([call("graph_diff", pair), call("diff", pair)]);
  const ids = cards.changes.filter((change) => change.kind === "node").map((change) => change.id);
  const before = ids.length
    ? await call("graph_query", { branch: pair.from, ids, limit: 200, max_chars: 1_000_000 })
    : { nodes: [] };
  const known = new Map(before.nodes.map((node) => [node.id, node]));
  return [
    el(
      "div",
      { class: "row", data: { key: "choose" } },
      "What ",
      chooser(names, to, {
        label: "The branch",
        pick: (name) => go("know", "cards", from, "diff", name),
        id: "diff-to",
      }),
      " has that ",
      chooser(names, from, {
        label: "Compared with",
        pick: (name) => go("know", "cards", name, "diff", to),
        id: "diff-from",
      }),
      " has not",
      el(
        "button",
        { type: "button", class: "small", onclick: () => go("know", "cards", to, "diff", from) },
        "⇄ the other way",
      ),
      cards.changes.length || notes.entries.length ? mergeButton(pair.to, pair.from) : null,
    ),
    card(
      "Cards and links",
      { id: "diff-cards", count: cards.changes.length },
      cards.changes.length
        ? el(
            "ul",
            { class: "plain changes" },
            cards.changes.map((change) =>
              change.kind === "node" ? nodeRow(change, known.get(change.id)) : edgeRow(change),
            ),
          )
        : nothing("The same cards on both."),
      cards.pagination?.has_more ? nothing("More are left out.") : null,
    ),
    card(
      "Notes",
      { id: "diff-notes", count: notes.entries.length },
      notes.entries.length
        ? el("ul", { class: "plain" }, notes.entries.map(noteRow))
        : nothing("No note that the other has not."),
      notes.pagination?.has_more ? nothing("More are left out.") : null,
    ),
  ];
}

function nodeRow({ id, to }, old) {
  const kind = to.deleted ? ["deleted", "bad"] : old ? ["changed", "warn"] : ["new", "good"];
  return el(
    "li",
    { data: { change: id } },
    el(
      "p",
      { class: "row" },
      badge(...kind),
      chip(to.type, `card-${to.type}`),
      el("strong", {}, shorten(to.title || to.text || id, 120)),
      el("span", { class: "id" }, id),
    ),
    to.deleted
      ? null
      : old
        ? diffView(changed(old, to))
        : to.text
          ? el("p", { class: "said" }, shorten(to.text, 400))
          : null,
  );
}

function changed(old, now) {
  const text = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));
  const rows = FIELDS.filter((name) => text(old[name]) !== text(now[name])).flatMap((name) => [
    text(old[name]) ? `-${name}: ${text(old[name])}` : null,
    text(now[name]) ? `+${name}: ${text(now[name])}` : null,
  ]);
  return rows.filter(Boolean).join("\n") || " only its inner data differ";
}

function edgeRow({ key, to }) {
  return el(
    "li",
    {},
    el(
      "p",
      { class: "row" },
      badge(to.deleted ? "deleted" : "link", to.deleted ? "bad" : "info"),
      `${key.from} ${key.rel} ${key.to}`,
    ),
  );
}

function noteRow(entry) {
  return el(
    "li",
    {},
    el(
      "p",
      {},
      entry.title ? el("strong", {}, `${shorten(entry.title, 100)} `) : null,
      shorten(entry.content ?? "", 400),
      " ",
      el("span", { class: "quiet" }, ago(entry.ts_ms)),
    ),
  );
}
