// The cards of a branch or task as a picture with the engine's signals; the difference of two
// branches; open conflicts.

import { call, tryCall } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, title, views } from "../parts.js";
import { redraw } from "../redraw.js";
import { go, link } from "../router.js";
import { conflictParts } from "./cards/conflicts.js";
import { diffParts } from "./cards/diff.js";
import { graphParts } from "./cards/graph.js";

const VIEWS = [
  ["graph", "Graph"],
  ["diff", "Difference"],
  ["conflicts", "Conflicts"],
];

export async function show(main, [scope = "main", asked = "graph", other]) {
  const view = VIEWS.some(([name]) => name === asked) ? asked : "graph";
  const { branches } = await call("branch_list", { limit: 500, max_chars: 1_000_000 });
  const names = [
    ...new Set(
      branches
        .map((branch) => scopeName(branch.name))
        .filter((name) => !name.startsWith("session/")),
    ),
  ];
  const titles = view === "graph" ? await titlesOf(names) : new Map();
  title(view === "conflicts" ? "Conflicts" : scope, "Cards");
  const tabs = views(
    "View",
    VIEWS.map(([name, words]) => [
      link("know", "cards", scope, ...(name === "graph" ? [] : [name])),
      name,
      words,
    ]),
    view,
  );
  const lead = {
    graph: "What is asked, supposed, tested, found and decided, and what rests on what.",
    diff: "What one branch has that another has not.",
    conflicts: "Changed on both sides of a merge; somebody has to choose.",
  }[view];
  const body = el("div", { class: "stack", id: "cards-body", data: { key: "body" } });
  const page = el(
    "div",
    { class: "page" },
    head(
      view === "conflicts" ? "Conflicts" : `Cards of ${scope}`,
      lead,
      view === "graph" ? chooser(names, scope, { titles }) : null,
      tabs,
    ),
    body,
  );
  const parts = {
    graph: () => graphParts(scope),
    diff: () => diffParts(scope, other, names),
    conflicts: conflictParts,
  }[view];
  const draw = async () => {
    redraw(body, await parts());
    if (!page.isConnected) replace(main, page);
  };
  return keepDrawn(draw, (event) => event.topic === "reasoning" || event.topic === "tasks");
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
