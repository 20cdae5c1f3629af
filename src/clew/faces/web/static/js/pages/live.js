// Now: who works, and their activity, in sentences.

import { call, tryCall } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { kindWord } from "../kinds.js";
import { keepDrawn } from "../news.js";
import { badge, card, head, nothing, several } from "../parts.js";
import { isMe } from "../people.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";
import { state } from "../state.js";
import { digestParts } from "./home/digest.js";
import { workersOf } from "./live/workers.js";

const PAUSE = 1500;
// Redraw periodically: relative times change and leases expire without an event.
const TICK = 5_000;
const ROOM = 1_000_000;
/** @type {[string, string, number][]} */
const SPANS = [
  ["hour", "Last hour", 60],
  ["day", "Last day", 24 * 60],
  ["week", "Last week", 7 * 24 * 60],
];

export async function show(main, _parts, query) {
  let wanted = query?.get("span");
  const body = el("div.page.home");
  const draw = async () => {
    const known = await look(wanted);
    redraw(body, [
      head("Now", lead(known), spanLinks(known.span)),
      workersCard(known.workers),
      card("What was done", { id: "done" }, digestParts(known.done)),
    ]);
    if (!body.isConnected) replace(main, body);
  };
  const end = await keepDrawn(draw, () => true, PAUSE);
  const ticks = setInterval(() => void draw().catch(() => {}), TICK);
  return {
    end: () => {
      clearInterval(ticks);
      end();
    },
    move: (_rest, next) => {
      wanted = next.get("span");
      return draw();
    },
  };
}

async function look(wanted) {
  const [{ span, line }, radar, sessions] = await Promise.all([
    latest(wanted),
    tryCall("tasks_jobs_radar", { limit: 50, offline_limit: 10, fmt: "json", max_chars: ROOM }),
    tryCall("session_list", { limit: 20 }),
  ]);
  const since = new Date(line.from_ms).toISOString();
  const done = await call("digest", { since, max_chars: 400_000 });
  return { span, done, workers: workersOf({ line, radar, sessions, done }) };
}

// Unless a period was selected, the shortest one with events.
async function latest(wanted) {
  const chosen = SPANS.find(([name]) => name === wanted);
  for (const [name, , minutes] of chosen ? [chosen] : SPANS) {
    const line = await call("agents_timeline", { minutes, slots: 2, limit: 30, max_chars: ROOM });
    if (chosen || line.rows.length || name === SPANS.at(-1)[0]) return { span: name, line };
  }
}

function lead({ workers }) {
  // Sessions are not workers, and the reader is left out.
  const busy = (kind) => workers.filter((one) => one.active && one.kind === kind && !isMe(one.name)).length;
  const counts = [several(busy("agent"), "agent"), several(busy("runner"), "runner")];
  const some = counts.filter((words) => !words.startsWith("0 "));
  return `Workspace ${state.workspace} · ${some.join(" and ") || "no agent"} at work`;
}

const spanLinks = (shown) =>
  el(
    "nav.facets.end",
    { "aria-label": "Period" },
    SPANS.map(([name, words]) =>
      el(
        "a.facet",
        {
          href: link("now", "live", { span: name }),
          "aria-current": name === shown ? "true" : null,
          key: name,
          data: { span: name },
        },
        words,
      ),
    ),
  );

function workersCard(workers) {
  if (!workers.length) return card("Agents", { id: "workers" }, nothing("No agent wrote in this time."));
  const names = ["Who", "What it is", "State", "What it did", "Last"].map((words) => el("th", { scope: "col" }, words));
  return card(
    "Agents",
    { id: "workers" },
    el("table.table", el("thead", el("tr", names)), el("tbody", { key: "rows" }, workers.map(workerRow))),
  );
}

function workerRow(worker) {
  const text = shorten(worker.text, 110);
  return el(
    "tr",
    { key: `${worker.kind} ${worker.name}`, data: { worker: worker.name } },
    el(
      "th",
      { scope: "row" },
      el("span", { class: `dot ${worker.active ? "active" : ""}` }),
      " ",
      el("a", { href: worker.href }, shorten(worker.words, 60)),
    ),
    el("td", isMe(worker.name) ? "you" : kindWord(worker.kind)),
    el("td", badge(worker.state, worker.active ? "good" : "")),
    el("td.what", worker.textHref ? el("a", { href: worker.textHref }, text) : text),
    el("td.when", ago(worker.at)),
  );
}
