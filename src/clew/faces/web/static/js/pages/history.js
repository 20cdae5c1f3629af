// What changed since you last looked, and the log.

import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head } from "../parts.js";
import { redraw } from "../redraw.js";
import { state } from "../state.js";
import { changesCard } from "./home/changes.js";
import { gather } from "./home/gather.js";
import { liveLog } from "./home/log.js";
import { lookedUntil, visit } from "./home/visits.js";

const PAUSE = 1500;

export async function show(main) {
  const since = visit(state.workspace);
  const body = el("div", { class: "page home" });
  const log = liveLog();
  const draw = async () => {
    const known = await gather(since.mark);
    log.begin(known);
    lookedUntil(state.workspace, known.last);
    const seen = () => {
      since.mark = known.last;
      lookedUntil(state.workspace, known.last, true);
      draw();
    };
    redraw(body, head("History"), changesCard(known, since, seen), log.card());
    if (!body.isConnected) replace(main, body);
  };
  return keepDrawn(draw, log.news, PAUSE);
}
