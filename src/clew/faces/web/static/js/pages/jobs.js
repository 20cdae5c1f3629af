// Jobs: who works, who waits for you; a job with its thread is its record.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { show as showRecord } from "../object/whole.js";
import { teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { radarParts } from "./jobs/radar.js";

const LEASES = 5_000;

export async function show(main, [id]) {
  if (!knows("tasks_jobs_radar"))
    return void replace(main, el("div.page", teach("No jobs", "This Clew was built without them.")));
  if (id) return showRecord(main, [id]);
  const page = el("div.page");
  const draw = async () => {
    redraw(page, await radarParts());
    if (!page.isConnected) replace(main, page);
  };
  const end = await keepDrawn(draw, (event) => event.topic === "jobs");
  // A lease expires without an event.
  const leases = setInterval(() => void draw().catch(() => {}), LEASES);
  return () => {
    clearInterval(leases);
    end();
  };
}
