// Anchors as a picture: areas of the system, what contains what, what rests on what. A click opens the area's lens.

import { ago, el, replace, shorten, svg } from "../dom.js";
import { call, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { go, link } from "../router.js";

const BOX = { width: 190, height: 58, gapX: 46, gapY: 74 };

export async function show(main, [wanted]) {
  const { anchors } = await call("anchors_list", { limit: 200 });
  const lens = el("aside", { class: "lens", id: "lens", "aria-live": "polite" });
  replace(main, el("div", { class: "page split" },
    el("section", {}, el("h1", {}, "Map"), el("p", { class: "quiet" }, `${anchors.length} anchors`), anchors.length ? picture(anchors, wanted) : nothing()),
    lens));
  if (wanted) await showLens(lens, wanted);
  else replace(lens, el("p", { class: "quiet" }, "Choose an area to see what is known about it."));
  return feed.on("events", (event) => { if (event.startsWith("anchor")) show(main, [wanted]); });
}

function nothing() {
  return el("p", {}, "No anchor yet. Tag a card with a:storage, or write one with macro_anchor_note, and the area appears here.");
}

// Rows by depth under their parents, siblings in order of their ids.
function place(anchors) {
  const known = new Map(anchors.map((anchor) => [anchor.id, anchor]));
  const children = new Map();
  for (const anchor of anchors) {
    const parent = known.has(anchor.parent_id) && anchor.parent_id !== anchor.id ? anchor.parent_id : "";
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(anchor.id);
  }
  const at = new Map();
  let next = 0;
  const walk = (id, depth) => {
    if (at.has(id)) return;
    at.set(id, null);
    const below = (children.get(id) ?? []).filter((child) => !at.has(child));
    const first = next;
    for (const child of below) walk(child, depth + 1);
    const column = below.length ? (first + next - 1) / 2 : next++;
    at.set(id, { x: column * (BOX.width + BOX.gapX) + 20, y: depth * (BOX.height + BOX.gapY) + 20 });
  };
  for (const id of children.get("") ?? []) walk(id, 0);
  for (const anchor of anchors) walk(anchor.id, 0);
  return at;
}

function picture(anchors, wanted) {
  const at = place(anchors);
  const width = Math.max(...[...at.values()].map((spot) => spot.x)) + BOX.width + 20;
  const height = Math.max(...[...at.values()].map((spot) => spot.y)) + BOX.height + 20;
  const lines = anchors.flatMap((anchor) => [
    ...(at.has(anchor.parent_id) ? [line(at.get(anchor.parent_id), at.get(anchor.id), "contains")] : []),
    ...anchor.depends_on.filter((other) => at.has(other)).map((other) => line(at.get(anchor.id), at.get(other), "depends")),
  ]);
  const boxes = anchors.map((anchor) => box(anchor, at.get(anchor.id), anchor.id === wanted));
  return el("div", { class: "map" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Map of anchors" }, lines, boxes));
}

function line(from, to, kind) {
  const start = { x: from.x + BOX.width / 2, y: from.y + BOX.height }, end = { x: to.x + BOX.width / 2, y: to.y };
  const bend = (start.y + end.y) / 2;
  return svg("path", { class: `edge ${kind}`, d: `M${start.x} ${start.y}C${start.x} ${bend} ${end.x} ${bend} ${end.x} ${end.y}` });
}

function box(anchor, spot, chosen) {
  const open = () => go("map", anchor.id);
  return svg("g", {
    class: `anchor ${anchor.kind} ${anchor.status}${chosen ? " chosen" : ""}`, tabindex: "0", role: "button", transform: `translate(${spot.x} ${spot.y})`,
    "aria-label": `${anchor.id}, ${anchor.title}`, onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); },
  }, svg("rect", { width: BOX.width, height: BOX.height, rx: 10 }),
  svg("text", { x: 12, y: 24, class: "name" }, shorten(anchor.title, 24)), svg("text", { x: 12, y: 44, class: "id" }, shorten(anchor.id, 26)));
}

async function showLens(lens, id) {
  const found = await tryCall("anchor_snapshot", { anchor: id, limit: 30 });
  if (!found) return replace(lens, el("p", {}, `Nothing is known of ${id}.`));
  const { anchor, cards, tasks } = found;
  replace(lens,
    el("h2", {}, anchor.title), el("p", { class: "quiet" }, `${anchor.id} · ${anchor.kind} · ${anchor.status}`),
    anchor.description ? el("p", {}, anchor.description) : null,
    anchor.refs.length ? el("p", { class: "quiet" }, anchor.refs.join(" · ")) : null,
    el("h3", {}, "Tasks"), tasks?.length ? el("ul", { class: "plain" }, tasks.map((task) => el("li", {}, el("a", { href: link("work", task.task) }, `${task.task} ${shorten(task.title ?? "", 60)}`), ` ${task.status ?? ""}`))) : el("p", { class: "quiet" }, "None."),
    el("h3", {}, "Cards"), cards.length ? el("ul", { class: "plain" }, cards.map((card) => el("li", {}, el("span", { class: `chip card-${card.type}` }, card.type), " ", shorten(card.title || card.text || card.id, 120), " ", card.last_ts_ms ? ago(card.last_ts_ms) : null))) : el("p", { class: "quiet" }, "None."));
}
