// What needs you.

import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head } from "../parts.js";
import { redraw } from "../redraw.js";
import { gather } from "./home/gather.js";
import { needsCard } from "./home/needs.js";
import { contradictionParts } from "./memory/contradictions.js";
import { reviewParts } from "./memory/review.js";

export async function show(main, parts) {
  const body = el("div", { class: "page" });
  const draw = async () => {
    const [known, review, pairs] = await Promise.all([
      gather(0),
      reviewParts(parts),
      contradictionParts(),
    ]);
    redraw(body, head("Inbox"), needsCard(known.needs), review, pairs);
    if (!body.isConnected) replace(main, body);
  };
  return keepDrawn(draw, () => true, 1500);
}
