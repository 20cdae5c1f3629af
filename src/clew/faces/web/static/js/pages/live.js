// Now: who is working on a live axis of time, and every event as it happens.

import { call, tryCall } from "../api.js";
import { clewCommand } from "../commands.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { callText, head, several, teach } from "../parts.js";
import { isMe } from "../people.js";
import { redraw } from "../redraw.js";
import { state } from "../state.js";
import { gather, namesOf, ROOM } from "./home/gather.js";
import { liveLog } from "./home/log.js";
import { axis, SPANS, workersTable } from "./live/axis.js";
import { workersOf } from "./live/workers.js";

// A line of the log appears at once; what takes several questions to know is asked anew at most
// this often.
const PAUSE = 1500;
// Time goes on, and a lease runs out, without anybody writing a word.
const TICK = 5_000;
const SLOTS = 60;

export async function show(main, _parts, query) {
  let span = spanOf(query);
  const body = el("div", { class: "page home" });
  const log = liveLog();
  const draw = async () => {
    const known = await look(span);
    log.begin(known, span[2]);
    redraw(
      body,
      head("Now", lead(known)),
      known.last <= 1
        ? begin()
        : [axis(known.workers, known.line, span[0]), workersTable(known.workers), log.card()],
    );
    if (!body.isConnected) replace(main, body);
  };
  const end = await keepDrawn(draw, log.news, PAUSE);
  const ticks = setInterval(() => void draw().catch(() => {}), TICK);
  return {
    end: () => {
      clearInterval(ticks);
      end();
    },
    move: (_rest, next) => {
      span = spanOf(next);
      return draw();
    },
  };
}

/** @param {URLSearchParams} query */
const spanOf = (query) => SPANS.find(([name]) => name === query?.get("span")) ?? SPANS[0];

async function look([, , minutes]) {
  const [line, radar, sessions, known] = await Promise.all([
    call("agents_timeline", { minutes, slots: SLOTS, limit: 30, max_chars: ROOM }),
    tryCall("tasks_jobs_radar", { limit: 50, offline_limit: 10, fmt: "json", max_chars: ROOM }),
    tryCall("session_list", { limit: 20 }),
    gather(),
  ]);
  const lasts = line.rows
    .map(({ last }) => last)
    .filter(({ subject }) => !known.names.has(subject));
  const more = lasts.length ? await namesOf(lasts) : new Map();
  const names = new Map([...known.names, ...more]);
  return { ...known, names, line, workers: workersOf({ line, radar, sessions, names }) };
}

function lead({ workers }) {
  // A session is what an agent works in, not somebody who works; who reads this knows of oneself.
  const busy = (kind) =>
    workers.filter((one) => one.active && one.kind === kind && !isMe(one.name)).length;
  const counts = [several(busy("agent"), "agent"), several(busy("runner"), "runner")];
  const some = counts.filter((words) => !words.startsWith("0 "));
  return `Workspace ${state.workspace}${some.length ? ` · ${some.join(" and ")} at work` : ""}`;
}

function begin() {
  return teach(
    "Nothing has happened here yet",
    "Connect an agent, or write the first lines yourself; everything that any process writes appears here by itself.",
    // The address that is being looked at: an agent that starts a server of its own may miss this store.
    state.connect[0]?.lines[0] ?? `claude mcp add clew -- ${clewCommand("serve")}`,
    callText("notes_commit", { content: "The first thing worth keeping" }),
    callText("tasks_macro_start", { task_title: "The first task" }),
  );
}
