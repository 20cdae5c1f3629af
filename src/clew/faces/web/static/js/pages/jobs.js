// Jobs: who works, who waits for you, and the thread of each job.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { jobParts } from "./jobs/job.js";
import { radarParts } from "./jobs/radar.js";

const LEASES = 5_000;

export async function show(main, [id]) {
  if (!knows("tasks_jobs_radar"))
    return void replace(
      main,
      el("div", { class: "page" }, teach("No jobs", "This Clew was built without them.")),
    );
  const page = el("div", { class: "page" });
  const draw = async () => {
    redraw(page, await (id ? jobParts(id) : radarParts()));
    if (!page.isConnected) replace(main, page);
  };
  const end = await keepDrawn(draw, (event) => event.topic === "jobs");
  // A lease runs out without anybody writing a word.
  const leases = setInterval(() => void draw().catch(() => {}), LEASES);
  return () => {
    clearInterval(leases);
    end();
  };
}
