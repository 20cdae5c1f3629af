// Branches: the difference between two (cards with their changed fields, links, notes), and
// merging. Conflicts are resolved in the Inbox.

import { call, tryCall } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { mergeButton } from "../merge.js";
import { keepDrawn } from "../news.js";
import { badge, card, chip, diffView, head, nothing, teach, title } from "../parts.js";
import { redraw } from "../redraw.js";
import { go, link } from "../router.js";

const FIELDS = ["type", "title", "status", "text", "tags"];
const MOST = 100;
const matters = (event) => event.topic === "reasoning" || event.topic === "tasks";

export async function show(main, parts) {
  let asked = parts;
  const body = el("div#branches.page");
  const draw = async () => {
    const [from = "main", to] = asked;
    title("Branches", "Know");
    redraw(body, [
      head(
        "Branches",
        "A branch is a line of thought of its own. Compare two, and merge what should last.",
        el("a.button", { href: link("inbox", { kind: "conflict" }) }, "Conflicts"),
      ),
      await differenceParts(from, to, await branchNames()),
    ]);
    if (!body.isConnected) replace(main, body);
  };
  const end = await keepDrawn(draw, matters);
  return {
    end,
    move: (rest) => {
      asked = rest;
      return draw();
    },
  };
}

// The branch of a task or plan is known by the id, since its cards have a document of their own.
const isWork = (name) => /^(TASK|PLAN)-\d+$/.test(name);
const branchOf = (name) => (isWork(name) ? `${name.slice(0, 4).toLowerCase()}/${name}` : name);

async function branchNames() {
  const { branches } = await call("branch_list", { limit: 500, max_chars: 1_000_000 });
  const names = branches
    .map(({ name }) => name.replace(/^(task|plan)\/((TASK|PLAN)-\d+)$/, "$2"))
    .filter((name) => !name.startsWith("session/"));
  return titled([...new Set(names)]);
}

// Tasks and plans are named by their titles.
async function titled(names) {
  const ids = names.filter(isWork).slice(0, 200);
  const found = ids.length ? await tryCall("record_names", { ids }) : null;
  const titles = new Map((found?.names ?? []).map(({ id, title: words }) => [id, words]));
  return new Map(names.map((name) => [name, titles.has(name) ? `${shorten(titles.get(name), 60)} · ${name}` : name]));
}

function chooser(names, chosen, { label, id, pick }) {
  const all = names.has(chosen) ? names : new Map([[chosen, chosen], ...names]);
  return el(
    "select",
    { id, "aria-label": label, onchange: (event) => pick(event.target.value) },
    [...all].map(([name, words]) => el("option", { value: name, selected: name === chosen }, words)),
  );
}

async function differenceParts(from, asked, names) {
  // Branches with a given name come first: those of tasks and plans are mostly empty.
  const others = [...names.keys()].filter((name) => name !== from);
  const to = asked ?? others.find((name) => !isWork(name)) ?? others[0];
  if (!to)
    return teach(
      "There is only one branch",
      "Agents branch to try something out. Its difference appears here, and can be merged.",
    );
  const pair = { from: branchOf(from), to: branchOf(to), limit: MOST, max_chars: 1_000_000 };
  const [cards, notes] = await Promise.all([call("graph_diff", pair), call("diff", pair)]);
  const ids = cards.changes.filter((change) => change.kind === "node").map((change) => change.id);
  const before = ids.length
    ? await call("graph_query", { branch: pair.from, ids, limit: 200, max_chars: 1_000_000 })
    : { nodes: [] };
  const known = new Map(before.nodes.map((node) => [node.id, node]));
  return [
    el(
      "div.row",
      { key: "choose" },
      "Only on ",
      chooser(names, to, {
        label: "The branch",
        pick: (name) => go("know", "branches", from, name),
        id: "diff-to",
      }),
      "compared with ",
      chooser(names, from, {
        label: "Compared with",
        pick: (name) => go("know", "branches", name, to),
        id: "diff-from",
      }),
      el("button.small", { onclick: () => go("know", "branches", to, from) }, "⇄ Swap"),
      cards.changes.length || notes.entries.length ? mergeButton(pair.to, pair.from) : null,
    ),
    card(
      "Cards and links",
      { id: "diff-cards", count: cards.changes.length },
      cards.changes.length
        ? el(
            "ul.plain.changes",
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
      notes.entries.length ? el("ul.plain", notes.entries.map(noteRow)) : nothing("The same notes on both."),
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
      "p.row",
      badge(...kind),
      chip(to.type, `card-${to.type}`),
      el("strong", shorten(to.title || to.text || id, 120)),
      el("span.id", id),
    ),
    to.deleted ? null : old ? diffView(changed(old, to)) : to.text ? el("p.said", shorten(to.text, 400)) : null,
  );
}

function changed(old, now) {
  const text = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));
  const rows = FIELDS.filter((name) => text(old[name]) !== text(now[name])).flatMap((name) => [
    text(old[name]) ? `-${name}: ${text(old[name])}` : null,
    text(now[name]) ? `+${name}: ${text(now[name])}` : null,
  ]);
  return rows.filter(Boolean).join("\n") || " only its attributes differ";
}

function edgeRow({ key, to }) {
  return el(
    "li",
    el(
      "p.row",
      badge(to.deleted ? "deleted" : "link", to.deleted ? "bad" : "info"),
      `${key.from} ${key.rel} ${key.to}`,
    ),
  );
}

function noteRow(entry) {
  return el(
    "li",
    el(
      "p",
      entry.title ? el("strong", `${shorten(entry.title, 100)} `) : null,
      shorten(entry.content ?? "", 400),
      " ",
      el("span.quiet", ago(entry.ts_ms)),
    ),
  );
}
