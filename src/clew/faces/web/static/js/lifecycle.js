// Whether a record is valid: the meaning of its status, by the table that the server declares.

import { RECORD_KINDS, STATES, STATUS } from "./facts.js";

/** Labels of statuses of work. */
export const WORK_WORDS = { [STATUS.WORK_TODO]: "to do", [STATUS.WORK_ACTIVE]: "in work" };

const OVER = ["replaced", "withdrawn", "expired"];

/** The state of a status for a kind of record: "in force", "proposed", "open", "settled", ... */
export function stateOf(kind, status, store = "") {
  const word = String(status ?? "").toLowerCase();
  const known = RECORD_KINDS.find(({ name, store: home }) => name === kind && (!store || home === store));
  const own = known ?? RECORD_KINDS.find(({ name }) => name === kind);
  const states = store === "card" && own?.store !== "card" ? own?.as_card : own?.states;
  const fallback = own?.family === "work" ? "open" : "in force";
  return states?.[word] ?? STATES[word] ?? states?.open ?? fallback;
}

/** Whether a record is no longer valid. */
export const isOver = (kind, status, store = "") => OVER.includes(stateOf(kind, status, store));

/** Whether no action is left: it is no longer valid, or it was settled. */
export const isEnded = (kind, status, store = "") =>
  isOver(kind, status, store) || stateOf(kind, status, store) === "settled";

export const STANDING = RECORD_KINDS.filter(({ family }) => family === "standing").map(({ name }) => name);
export const OPEN_KINDS = RECORD_KINDS.filter(({ family }) => family === "open").map(({ name }) => name);
