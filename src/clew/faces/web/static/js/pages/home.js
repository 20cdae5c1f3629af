// What changed since you last looked, who is working, what needs you.

import { call } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { callText, head, problemNotice, several, teach } from "../parts.js";
import { redraw, swap } from "../redraw.js";
import { state } from "../state.js";
import { changesCard } from "./home/changes.js";
import { gather, ROOM } from "./home/gather.js";
import { LogLines, logCard } from "./home/log.js";
import { needsCard } from "./home/needs.js";
import { lookedUntil, visit } from "./home/visits.js";
import { workersCard } from "./home/workers.js";

// A line of the log appears at once; what takes a dozen questions to know is asked anew at most
// this often.
const PAUSE = 1500;

export async function show(main) {
  const since = visit(state.workspace);
  const body = el("div", { class: "page home" });
  const log = new LogLines();
  const draw = async () => {
    const known = await gather(since.mark);
    log.begin(known.newest, known.names);
    lookedUntil(state.workspace, known.last);
    const seen = () => {
      since.mark = known.last;
      lookedUntil(state.workspace, known.last, true);
      draw();
    };
    redraw(
      body,
      head(`Workspace ${state.workspace}`, lead(known)),
      known.last <= 1
        ? begin()
        : [
            el(
              "div",
              { class: "home-top", data: { key: "top", list: "" } },
              needsCard(known.needs),
              workersCard(known.workers),
            ),
            changesCard(known, since, seen),
            logCard(log, goBack),
          ],
    );
    if (!body.isConnected) replace(main, body);
  };
  const drawLog = () => {
    const old = document.getElementById("log-card");
    if (old) swap(old, logCard(log, goBack));
  };
  const goBack = async () => {
    try {
      log.goBack(await call("events_list", { ...log.page, max_chars: ROOM }));
      drawLog();
    } catch (problem) {
      problemNotice(problem);
    }
  };
  const news = (event) => {
    log.take([event]);
    drawLog();
    return true;
  };
  return keepDrawn(draw, news, PAUSE);
}

function lead({ needs, workers }) {
  const busy = workers.filter((worker) => worker.active).length;
  return [
    needs.total
      ? `${several(needs.total, "thing")} ${needs.total === 1 ? "needs" : "need"} you`
      : "Nothing needs you",
    busy ? ` · ${several(busy, "agent")} at work` : "",
    state.version ? ` · Clew ${state.version}` : "",
  ].join("");
}

function begin() {
  return teach(
    "Nothing has happened here yet",
    "Connect an agent, or write the first lines yourself; everything that any process writes appears here by itself.",
    "claude mcp add clew -- clew serve",
    callText("notes_commit", { content: "The first thing worth keeping" }),
    callText("tasks_macro_start", { task_title: "The first task" }),
  );
}
