// The cards of a branch or task as a picture with the engine's signals, and the difference of two
// branches. Conflicts of merges are decided in the Inbox.

import { call, tryCall } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, problemCard, title, views } from "../parts.js";
import { redraw } from "../redraw.js";
import { go, link } from "../router.js";
import { diffParts } from "./cards/diff.js";
import { CardGraph } from "./cards/graph.js";

const VIEWS = [
  ["graph", "Graph"],
  ["diff", "Difference"],
];
const CONFLICTS = () => link("inbox", { kind: "conflict" });
const PAUSE = 500;
const matters = (event) => event.topic === "reasoning" || event.topic === "tasks";

// The picture follows its own addresses (another card, other words, the table); another branch or
// view is begun anew.
export async function show(main, parts) {
  // Where conflicts stood in earlier versions.
  if (parts[1] === "conflicts") return location.replace(CONFLICTS());
  let shown = await begin(main, parts);
  let turn = 0;
  const move = async (rest, query) => {
    if (rest.join("/") === parts.join("/")) return shown.move?.(query);
    const mine = ++turn;
    shown.end();
    parts = rest;
    const whole = document.getElementById("main");
    whole.setAttribute("aria-busy", "true");
    const next = await begin(main, rest).catch((problem) => failed(main, problem));
    if (mine !== turn) return next.end();
    shown = next;
    whole.removeAttribute("aria-busy");
    whole.scrollTo({ top: 0 });
    if (document.activeElement === document.body) focusHeading(main);
  };
  const end = () => {
    turn += 1;
    shown.end();
  };
  return { end, move };
}

/** @returns {Promise<{end: () => any, move?: (query: URLSearchParams) => any}>} */
async function begin(main, [scope = "main", asked = "graph", other]) {
  const view = VIEWS.some(([name]) => name === asked) ? asked : "graph";
  title(scope, "Cards");
  return view === "graph" ? showGraph(main, scope) : showDifference(main, scope, other);
}

function focusHeading(main) {
  const heading = main.querySelector("h1") ?? main;
  heading.setAttribute("tabindex", "-1");
  heading.focus({ preventScroll: true });
}

function failed(main, problem) {
  replace(main, el("div", { class: "page" }, problemCard(problem)));
  return { end: () => {} };
}

async function showGraph(main, scope) {
  const graph = new CardGraph(scope);
  const bar = el("div", { class: "full-head" });
  const page = el("div", { class: "full" }, bar, graph.stage, graph.side);
  const names = await branchNames();
  const titles = await titlesOf(names);
  const show = () => {
    redraw(bar, headParts(scope, names, titles, graph, draw));
    if (!page.isConnected) replace(main, page);
    graph.draw();
  };
  const draw = async () => {
    await graph.look();
    show();
  };
  const stop = await keepDrawn(draw, matters, PAUSE);
  const end = () => {
    stop();
    graph.close();
  };
  const move = (query) => {
    const before = graph.words;
    graph.read(query);
    return before === graph.words ? show() : draw();
  };
  return { end, move };
}

function headParts(scope, names, titles, graph, again) {
  return [
    el("div", { data: { key: "words" } }, el("h1", {}, `Cards of ${scope}`)),
    chooser(names, scope, { titles }),
    graph.tools(again),
    tabsOf(scope, "graph"),
  ];
}

const tabsOf = (scope, view) =>
  views(
    "View",
    [
      ...VIEWS.map(([name, words]) => [
        link("know", "cards", scope, ...(name === "graph" ? [] : [name])),
        name,
        words,
      ]),
      [CONFLICTS(), "conflicts", "Conflicts"],
    ],
    view,
  );

async function showDifference(main, scope, other) {
  const names = await branchNames();
  const body = el("div", { class: "stack", id: "cards-body", data: { key: "body" } });
  const page = el(
    "div",
    { class: "page" },
    head(`Cards of ${scope}`, "What one branch has that another has not.", tabsOf(scope, "diff")),
    body,
  );
  const draw = async () => {
    redraw(body, await diffParts(scope, other, names));
    if (!page.isConnected) replace(main, page);
  };
  return { end: await keepDrawn(draw, matters) };
}

async function branchNames() {
  const { branches } = await call("branch_list", { limit: 500, max_chars: 1_000_000 });
  const names = branches
    .map((branch) => scopeName(branch.name))
    .filter((name) => !name.startsWith("session/"));
  return [...new Set(names)];
}

// A task's branch is known by the task's id, since its cards lie in a document of their own.
const scopeName = (branch) => branch.replace(/^(task|plan)\/((TASK|PLAN)-\d+)$/, "$2");

// The titles of tasks and plans, which nobody knows by their numbers.
async function titlesOf(names) {
  if (!names.some((name) => /^(TASK|PLAN)-/.test(name))) return new Map();
  const work = await tryCall("tasks_context", {
    tasks_limit: 200,
    plans_limit: 100,
    include_all: true,
    max_chars: 400_000,
  });
  const all = [...(work?.plans ?? []), ...(work?.tasks ?? [])];
  return new Map(all.map(({ id, title: words }) => [id, words]));
}

export function chooser(
  names,
  chosen,
  {
    label = "Branch",
    pick = (name) => go("know", "cards", name),
    id = "branch",
    titles = new Map(),
  } = {},
) {
  const known = names.includes(chosen) ? names : [chosen, ...names];
  return el(
    "select",
    { id, "aria-label": label, onchange: (event) => pick(event.target.value) },
    known.map((name) =>
      el(
        "option",
        { value: name, selected: name === chosen },
        titles.has(name) ? `${shorten(titles.get(name), 60)} · ${name}` : name,
      ),
    ),
  );
}
