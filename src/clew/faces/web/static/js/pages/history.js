// What changed since you last looked, and the log.

import { call } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, problemNotice } from "../parts.js";
import { redraw, swap } from "../redraw.js";
import { state } from "../state.js";
import { changesCard } from "./home/changes.js";
import { gather, ROOM } from "./home/gather.js";
import { LogLines, logCard } from "./home/log.js";
import { lookedUntil, visit } from "./home/visits.js";

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
    redraw(body, head("History"), changesCard(known, since, seen), logCard(log, goBack));
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
