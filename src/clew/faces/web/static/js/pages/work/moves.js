// Moving a task on the board: by pointer from column to column, by keys, or by its menu. Each is
// the operation that agents call, and each can be undone.

import { call } from "../../api.js";
import { askFields } from "../../forms.js";
import { keymap } from "../../keys.js";
import { notice } from "../../notices.js";
import { perform } from "../../object/actions.js";
import { ADD_STEP, STATUSES } from "../../object/work-actions.js";
import { act } from "../../parts.js";
import { statusOf, statusWord } from "./board.js";

const DRAGGED = 8;
const ORDER = STATUSES.map(([status]) => status);
const wordsOf = (status) => STATUSES.find(([name]) => name === status)?.[1] ?? status;

export function setStatus(task, status, button = document.createElement("button")) {
  if (!status || status === task.status) {
    if (status && status !== statusOf(task))
      notice(`${task.title} is ${statusWord(task)}: ${task.steps_completed}/${task.steps_count} steps are closed.`);
    return Promise.resolve(false);
  }
  return act(button, () => call("tasks_complete", { task: task.id, status }), `${task.title}: ${wordsOf(status)}`);
}

// The options in the menu of a card; DONE is refused while steps are open, and the message lists
// them.
export async function askStatus(task) {
  const given = await askFields(
    `Move “${task.title}”`,
    [{ name: "status", words: "Status", value: task.status, options: STATUSES }],
    { doIt: "Move" },
  );
  return given ? setStatus(task, given.status) : false;
}

export const addStep = (task) => perform(ADD_STEP, { id: task.id, kind: "task", title: task.title, shown: {} });

// Keys for the card that has the focus. `tasks` are those on the board now, by id.
export function boardKeys(tasks) {
  const chosen = (run) => () => {
    const card = document.activeElement?.closest?.("[data-task]");
    const task = card ? tasks.get(/** @type {HTMLElement} */ (card).dataset.task) : null;
    if (!task) return false;
    run(task);
  };
  const shifted = (by) => (task) => {
    const next = ORDER[ORDER.indexOf(statusOf(task)) + by];
    if (next) setStatus(task, next);
  };
  return keymap("Board (on a task)", {
    "<": ["Move it one column back", chosen(shifted(-1))],
    ">": ["Move it one column on", chosen(shifted(1))],
    m: ["Choose its status", chosen(askStatus)],
    s: ["Add a step to it", chosen(addStep)],
  });
}

// By pointer: after a few pixels the card follows; where it is let go, it stays. A touch scrolls.
export function drag(event, task) {
  const card = /** @type {HTMLElement} */ (event.currentTarget);
  if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("button")) return;
  const start = [event.clientX, event.clientY];
  let moving = false;
  const column = (at) =>
    /** @type {HTMLElement | undefined} */ (
      document.elementsFromPoint(at.clientX, at.clientY).find((node) => node.matches(".column[data-status]"))
    );
  const mark = (wanted) => {
    for (const node of document.querySelectorAll(".column.aimed")) if (node !== wanted) node.classList.remove("aimed");
    wanted?.classList.add("aimed");
  };
  const follow = (at) => {
    const [dx, dy] = [at.clientX - start[0], at.clientY - start[1]];
    if (!moving && Math.hypot(dx, dy) < DRAGGED) return;
    moving = true;
    card.classList.add("dragged");
    card.style.translate = `${dx}px ${dy}px`;
    mark(column(at));
  };
  const done = (at, dropped) => {
    removeEventListener("pointermove", follow);
    removeEventListener("pointerup", drop);
    removeEventListener("pointercancel", leave);
    card.classList.remove("dragged");
    card.style.translate = "";
    mark(null);
    if (!moving) return;
    // The end of a drag is not a click on the link below the pointer.
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
    if (dropped) setStatus(task, column(at)?.dataset.status);
  };
  const drop = (at) => done(at, true);
  const leave = (at) => done(at, false);
  addEventListener("pointermove", follow);
  addEventListener("pointerup", drop);
  addEventListener("pointercancel", leave);
}

const swallow = (event) => {
  event.preventDefault();
  event.stopPropagation();
};
