// Work: all plans and tasks as a board; one plan or task with its steps, proofs, next action and
// timeline.

import { knows } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { boardParts } from "./work/board.js";
import { boardKeys } from "./work/moves.js";
import { targetParts } from "./work/target.js";

export async function show(main, [id]) {
  if (!knows("tasks_context"))
    return void replace(main, el("div.page", teach("No tasks", "This Clew was built without them.")));
  const page = el("div.page");
  const known = new Map();
  const draw = async () => {
    const { parts, tasks } = await (id ? targetParts(id) : boardParts());
    known.clear();
    for (const task of tasks) known.set(task.id, task);
    redraw(page, parts);
    if (!page.isConnected) replace(main, page);
  };
  const end = await keepDrawn(draw, (event) => event.topic === "tasks" || event.topic === "system");
  const keys = boardKeys(known);
  return () => {
    keys();
    end();
  };
}
