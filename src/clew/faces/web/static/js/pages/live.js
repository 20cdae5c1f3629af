// Who is working, and every event as it happens.

import { clewCommand } from "../commands.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { callText, head, several, teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { state } from "../state.js";
import { gather } from "./home/gather.js";
import { liveLog } from "./home/log.js";
import { workersCard } from "./home/workers.js";

// A line of the log appears at once; what takes several questions to know is asked anew at most
// this often.
const PAUSE = 1500;

export async function show(main) {
  const body = el("div", { class: "page home" });
  const log = liveLog();
  const draw = async () => {
    const known = await gather(0);
    log.begin(known);
    redraw(
      body,
      head("Now", lead(known)),
      known.last <= 1 ? begin() : [workersCard(known.workers), log.card()],
    );
    if (!body.isConnected) replace(main, body);
  };
  return keepDrawn(draw, log.news, PAUSE);
}

function lead({ workers }) {
  // A session is what an agent works in, not somebody who works.
  const busy = (kind) => workers.filter((one) => one.active && one.kind === kind).length;
  const counts = [several(busy("agent"), "agent"), several(busy("runner"), "runner")];
  const some = counts.filter((words) => !words.startsWith("0 "));
  return `Workspace ${state.workspace}${some.length ? ` · ${some.join(" and ")} at work` : ""}`;
}

function begin() {
  return teach(
    "Nothing has happened here yet",
    "Connect an agent, or write the first lines yourself; everything that any process writes appears here by itself.",
    `claude mcp add clew -- ${clewCommand("serve")}`,
    callText("notes_commit", { content: "The first thing worth keeping" }),
    callText("tasks_macro_start", { task_title: "The first task" }),
  );
}
