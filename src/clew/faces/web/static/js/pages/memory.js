// Memory: ask it and see why it answers so, read it block by block, review what waits, settle what
// contradicts.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, teach, title, views } from "../parts.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";
import { blockParts } from "./memory/block.js";
import { blocksParts } from "./memory/blocks.js";
import { contradictionParts } from "./memory/contradictions.js";
import { healthParts } from "./memory/health.js";
import { showRecall } from "./memory/recall.js";
import { reviewParts } from "./memory/review.js";

const VIEWS = [
  ["recall", "Recall"],
  ["blocks", "Blocks"],
  ["review", "Review"],
  ["contradictions", "Contradictions"],
  ["health", "Health"],
];
const LEADS = {
  recall: "Ask what is known, and see why each answer stands where it stands.",
  blocks: "What is taken for true, with every version and where it came from.",
  review: "Nothing becomes true before somebody says so here.",
  contradictions: "Decisions that cannot both hold.",
  health: "What a scan of the whole memory finds.",
};
const PARTS = {
  blocks: blocksParts,
  review: reviewParts,
  contradictions: contradictionParts,
  health: healthParts,
};

export async function show(main, [asked, ...rest]) {
  if (!knows("recall"))
    return void replace(
      main,
      el("div", { class: "page" }, teach("No governed memory", "This Clew was built without it.")),
    );
  const view = VIEWS.some(([name]) => name === asked) ? asked : "recall";
  title(VIEWS.find(([name]) => name === view)[1], "Memory");
  const tabs = views(
    "View",
    VIEWS.map(([name, words]) => [link("memory", name), name, words]),
    view,
  );
  const body = el("div", { class: "stack", id: "memory", data: { key: "memory" } });
  const page = el("div", { class: "page" }, head("Memory", LEADS[view], tabs), body);
  const place = () => {
    if (!page.isConnected) replace(main, page);
  };
  if (view === "recall") {
    place();
    return showRecall(body, rest);
  }
  const parts =
    view === "blocks" && rest[0] ? () => blockParts(rest[0]) : (again) => PARTS[view](rest, again);
  const draw = async () => {
    redraw(body, await parts(draw));
    place();
  };
  return keepDrawn(draw, (event) => event.topic === "memory");
}
