// What is known: recall, and all blocks of the memory.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { address } from "../router.js";
import { blocksParts } from "./memory/blocks.js";
import { showRecall } from "./memory/recall.js";

export async function show(main, rest) {
  if (!knows("recall"))
    return void replace(
      main,
      el("div", { class: "page" }, teach("No governed memory", "This Clew was built without it.")),
    );
  const isBlocks = address().parts[0] === "blocks";
  const body = el("div", { class: "stack", id: "memory", data: { key: "memory" } });
  const words = isBlocks
    ? ["Memory", "What is taken for true, with every version and where it came from."]
    : ["Recall", "Ask what is known, and see why each answer stands where it stands."];
  const page = el("div", { class: "page" }, head(...words), body);
  if (!isBlocks) {
    replace(main, page);
    return showRecall(body, rest);
  }
  const draw = async () => {
    redraw(body, await blocksParts(rest, draw));
    if (!page.isConnected) replace(main, page);
  };
  return keepDrawn(draw, (event) => event.topic === "memory");
}
