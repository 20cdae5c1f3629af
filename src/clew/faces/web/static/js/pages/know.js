// What is known: recall, the playground of questions.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { head, teach } from "../parts.js";
import { showRecall } from "./memory/recall.js";

export async function show(main, parts, query) {
  if (!knows("recall"))
    return void replace(main, el("div.page", teach("No governed memory", "This Clew was built without it.")));
  const body = el("div#memory.stack", { key: "memory" });
  const words = "Ask what is known.";
  replace(main, el("div.page", head("Recall", words), body));
  const move = showRecall(body, parts, query);
  return { end: () => {}, move };
}
