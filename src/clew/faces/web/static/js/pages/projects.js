// All workspaces side by side: pending items, who works there, the last write, the share of proven
// work; and a search across them.

import { send, tryCall } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { icon } from "../kinds.js";
import { badge, card, head, nothing, several } from "../parts.js";
import { redraw } from "../redraw.js";
import { linkIn } from "../router.js";
import { state } from "../state.js";

const AGAIN = 20_000,
  PAUSE = 250,
  EACH = 3;

export async function show(main) {
  const body = el("div#projects.page");
  const found = el("div#projects-found.stack", { key: "found", data: { own: "" } });
  const search = el("input#projects-words.grow", {
    type: "search",
    key: "search",
    data: { search: "" },
    placeholder: "Search in all projects",
    "aria-label": "Search in all projects",
    oninput: () => later(),
  });
  let timer = 0,
    turn = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++turn;
      const parts = await searched(search.value.trim());
      if (mine === turn) replace(found, parts);
    }, PAUSE);
  };
  const table = el("div.wide", { key: "table" });
  const draw = async () => {
    const { projects } = await send("/page/projects");
    redraw(table, projectTable(projects));
    if (body.isConnected) return;
    const lead = several(projects.length, "project");
    replace(body, head("Projects", lead), search, found, table);
    replace(main, body);
  };
  await draw();
  const ticks = setInterval(() => draw().catch(() => {}), AGAIN);
  return () => {
    clearInterval(ticks);
    clearTimeout(timer);
  };
}

const HEADS = ["Project", "Inbox", "Agents at work", "Last activity", "Proven"];

const projectTable = (projects) =>
  el(
    "table#project-table.table.heat-table",
    el(
      "thead",
      el(
        "tr",
        HEADS.map((words) => el("th", { scope: "col" }, words)),
      ),
    ),
    el("tbody", projects.map(row)),
  );

function row({ workspace, inbox, agents, last_ms: last, closed, proven }) {
  return el(
    "tr",
    { key: workspace, data: { project: workspace } },
    el(
      "th",
      { scope: "row" },
      el("a", { href: linkIn(workspace, "home") }, workspace),
      workspace === state.workspace ? badge("shown") : null,
    ),
    cell("Inbox", inbox ? el("a", { href: linkIn(workspace, "inbox") }, badge(String(inbox), "info")) : null),
    cell("At work:", agents.join(", ")),
    el("td", last ? ago(last) : "never"),
    cell("Proven:", closed ? `${Math.round((100 * proven) / closed)} % of ${closed}` : ""),
  );
}

// On a phone, without column headers, a cell has its own label.
const cell = (words, value) => el("td", { data: { words } }, value);

async function searched(words) {
  if (words.length < 2) return [];
  const all = await Promise.all(
    state.workspaces.map(async (workspace) => ({
      workspace,
      results:
        (
          await tryCall("recall", {
            workspace,
            query: words,
            limit: EACH,
            sources: ["all"],
            max_chars: 20_000,
          })
        )?.results ?? [],
    })),
  );
  const hits = all.filter(({ results }) => results.length);
  if (!hits.length) return nothing("No project knows anything about this.");
  return hits.map(({ workspace, results }) =>
    card(
      workspace,
      { key: workspace },
      el(
        "ul.lines",
        results.map((item) =>
          el(
            "li",
            el("span.kind", icon(item.type)),
            el("a.what", { href: linkIn(workspace, "o", item._id) }, shorten(item.excerpt, 160)),
          ),
        ),
      ),
    ),
  );
}
