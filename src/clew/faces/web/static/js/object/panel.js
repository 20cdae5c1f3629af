// The panel next to any view: one record, opened by its address `#/WORKSPACE/o/ID` from
// anywhere. Escape closes it, Back goes to the record before.

import { el, replace } from "../dom.js";
import { onEscape } from "../keys.js";
import { problemCard, skeleton } from "../parts.js";
import { followRecord } from "./record.js";

/** @type {{id: string, end: (() => any) | null, off: () => any, before: Element | null} | null} */
let open = null;

export const panelId = () => open?.id ?? "";

const frame = () => document.getElementById("panel");

export async function openPanel(id, close) {
  const before = open?.before ?? document.activeElement;
  open?.end?.();
  open?.off();
  const mine = { id, end: null, off: onEscape(close), before };
  open = mine;
  const panel = frame();
  const body = el("div.panel-body", { data: { scroll: "panel" } });
  const shut = el("button.icon", { "aria-label": "Close the panel", title: "Close (Esc)", onclick: close }, "×");
  panel.hidden = false;
  const had = panel.contains(document.activeElement);
  replace(panel, el("div.panel-top", shut), body);
  if (had) shut.focus({ preventScroll: true });
  body.append(skeleton(3));
  try {
    const end = await followRecord(body, id);
    if (open !== mine) return void end();
    mine.end = end;
  } catch (problem) {
    if (open === mine) replace(body, problemCard(problem));
  }
  if (open === mine) focusPanel(panel);
}

function focusPanel(panel) {
  const now = document.activeElement;
  if (panel.contains(now) && !now.closest(".panel-top")) return;
  const heading = panel.querySelector("h2, .problem") ?? panel;
  heading.setAttribute("tabindex", "-1");
  /** @type {HTMLElement} */ (heading).focus({ preventScroll: true });
}

export function closePanel() {
  if (!open) return;
  const { before, end, off } = open;
  open = null;
  off();
  end?.();
  const panel = frame();
  const had = panel.contains(document.activeElement);
  panel.hidden = true;
  replace(panel);
  if (!had) return;
  const back = before?.isConnected && before !== document.body ? before : document.getElementById("main");
  /** @type {HTMLElement} */ (back).focus({ preventScroll: true });
}
