// The card graph of a task or branch, the difference of two branches, and conflicts side by side.

import { ago, el, notice, replace, shorten, svg } from "../dom.js";
import { call, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { go, link } from "../router.js";

const TYPES = ["frame", "question", "hypothesis", "test", "evidence", "decision", "update", "note"];
const BOX = { width: 210, height: 74, gapX: 60, gapY: 18 };

// The card that is open stays open when the picture is drawn anew.
let opened = null;

export async function show(main, [scope, view, other]) {
  const { branches } = await call("branch_list", { limit: 500, max_chars: 1_000_000 });
  const names = branches.map((branch) => branch.name).filter((name) => !name.startsWith("session/"));
  const chosen = scope ?? "main";
  const body = el("div", { id: "cards-body" });
  replace(main, el("div", { class: "page" }, el("div", { class: "stage-head" }, el("h1", {}, `Cards of ${chosen}`), chooser(names, chosen), tabs(chosen, view)), body));
  const draw = { diff: () => drawDiff(body, chosen, names, other), conflicts: () => drawConflicts(body, names) }[view] ?? (() => drawCards(body, chosen));
  await draw();
  let waiting = 0;
  return feed.on("events", (event, data) => {
    if (!data.topic || data.topic === "ledger" || data.topic === "memory") return;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 200);
  });
}

function chooser(names, chosen) {
  const known = names.includes(chosen) ? names : [chosen, ...names];
  return el("select", { "aria-label": "Branch", id: "branch", onchange: (event) => go("cards", event.target.value) },
    known.map((name) => el("option", { value: name, selected: name === chosen }, name)));
}

function tabs(chosen, view) {
  const tab = (name, title) => el("a", { href: name ? link("cards", chosen, name) : link("cards", chosen), "aria-current": (view ?? "") === name ? "page" : null }, title);
  return el("nav", { class: "tabs", "aria-label": "View" }, tab("", "Graph"), tab("diff", "Difference"), tab("conflicts", "Conflicts"));
}

const place = (name) => (/^(TASK|PLAN)-\d+$/.test(name) ? { target: name } : { branch: name });
const refPlace = (name) => (/^(TASK|PLAN)-\d+$/.test(name) ? { target: name } : { ref: name });

async function drawCards(body, chosen) {
  const found = await call("graph_query", { ...place(chosen), limit: 200, edges_limit: 1000, types: TYPES, max_chars: 1_000_000 });
  const pack = await tryCall("think_pack", { ...refPlace(chosen), max_chars: 60_000 });
  const detail = el("aside", { class: "lens", id: "card" }, el("p", { class: "quiet" }, "Choose a card."));
  replace(body, el("div", { class: "split page" },
    el("section", {}, signals(pack?.engine), found.nodes.length ? picture(found, detail) : el("p", {}, "No card here yet: think_card writes one.")), detail));
}

function signals(engine) {
  if (!engine?.signals?.length) return null;
  return el("ul", { class: "plain signals", id: "signals" }, engine.signals.map((signal) =>
    el("li", {}, el("span", { class: `badge ${{ high: "bad", critical: "bad", warning: "warn" }[signal.severity] ?? ""}` }, signal.severity), " ", signal.message, " ", el("span", { class: "quiet" }, signal.code))));
}

// A column for each kind of card, in the order in which thinking goes; oldest on top.
function picture({ nodes, edges }, detail) {
  const columns = TYPES.map((type) => nodes.filter((node) => node.type === type).sort((a, b) => a.last_seq - b.last_seq)).filter((column) => column.length);
  const at = new Map();
  columns.forEach((column, x) => column.forEach((node, y) => at.set(node.id, { x: x * (BOX.width + BOX.gapX) + 12, y: y * (BOX.height + BOX.gapY) + 34 })));
  const width = columns.length * (BOX.width + BOX.gapX), height = Math.max(...columns.map((column) => column.length)) * (BOX.height + BOX.gapY) + 40;
  const heads = columns.map((column, x) => svg("text", { x: x * (BOX.width + BOX.gapX) + 12, y: 22, class: "name" }, column[0].type));
  const lines = edges.filter((edge) => at.has(edge.from) && at.has(edge.to)).map((edge) => curve(at.get(edge.from), at.get(edge.to), edge.rel));
  const boxes = nodes.map((node) => box(node, at.get(node.id), () => { opened = node.id; showCard(detail, node, edges); }));
  const again = nodes.find((node) => node.id === opened);
  if (again) showCard(detail, again, edges);
  return el("div", { class: "map" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Cards" }, heads, lines, boxes));
}

function curve(from, to, rel) {
  const forward = to.x >= from.x;
  const start = { x: from.x + (forward ? BOX.width : 0), y: from.y + BOX.height / 2 }, end = { x: to.x + (forward ? 0 : BOX.width), y: to.y + BOX.height / 2 };
  const bend = (start.x + end.x) / 2;
  return svg("path", { class: `edge rel-${rel}`, d: `M${start.x} ${start.y}C${bend} ${start.y} ${bend} ${end.y} ${end.x} ${end.y}` }, svg("title", {}, rel));
}

function box(node, spot, open) {
  const words = shorten(node.title || node.text || node.id, 120);
  const [first, second] = twoLines(words, 25);
  return svg("g", { class: `anchor card-${node.type}${node.status === "open" ? "" : " shut"}`, tabindex: "0", role: "button", transform: `translate(${spot.x} ${spot.y})`, "aria-label": `${node.type} ${words}`, data: { card: node.id }, onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); } },
    svg("rect", { width: BOX.width, height: BOX.height, rx: 10 }), svg("text", { x: 10, y: 22, class: "name" }, first), svg("text", { x: 10, y: 40, class: "name" }, second), svg("text", { x: 10, y: 62, class: "id" }, shorten(`${node.id} · ${node.status ?? ""}`, 30)));
}

// Broken between words where there is one.
function twoLines(text, limit) {
  if (text.length <= limit) return [text, ""];
  const space = text.lastIndexOf(" ", limit);
  const end = space > 0 ? space : limit;
  return [text.slice(0, end), shorten(text.slice(end), limit)];
}

async function showCard(detail, node, edges) {
  const near = edges.filter((edge) => edge.from === node.id || edge.to === node.id);
  const full = await tryCall("open", { id: node.id, max_chars: 60_000 });
  const doubt = full?.card?.suspect ?? full?.suspect;
  replace(detail, el("h2", {}, node.title || node.id), el("p", { class: "quiet" }, `${node.type} · ${node.status ?? ""} · ${node.id} · `, ago(node.last_ts_ms)),
    doubt ? el("p", { class: "bad" }, `In doubt: ${doubt.because ?? ""} ${(doubt.path ?? []).join(" → ")}`) : null,
    node.text ? el("pre", { class: "text" }, node.text) : null, el("p", { class: "gates" }, node.tags.map((tag) => el("span", { class: "gate" }, tag))),
    near.length ? el("ul", { class: "plain" }, near.map((edge) => el("li", {}, edge.from === node.id ? `${edge.rel} ${edge.to}` : `${edge.from} ${edge.rel} this`))) : null);
}

async function drawDiff(body, from, names, to) {
  const chosen = to ?? names.find((name) => name !== from) ?? from;
  const pick = el("select", { "aria-label": "Compare with", onchange: (event) => go("cards", from, "diff", event.target.value) }, names.map((name) => el("option", { value: name, selected: name === chosen }, name)));
  const base = /^(TASK|PLAN)-/.test(from) ? `${from.startsWith("TASK") ? "task" : "plan"}/${from}` : from;
  const cards = await tryCall("graph_diff", { from: base, to: chosen, limit: 100, max_chars: 1_000_000 });
  const notes = await tryCall("diff", { from: base, to: chosen, limit: 100, max_chars: 1_000_000 });
  replace(body, el("p", {}, `What ${chosen} has that ${base} has not. `, pick),
    el("section", { class: "card" }, el("h2", {}, "Cards"), listed(cards?.changes ?? [], (change) => change.kind === "node" ? `${change.id} ${change.to.deleted ? "deleted" : shorten(change.to.title || change.to.text, 120)}` : `${change.key.from} ${change.key.rel} ${change.key.to}${change.to.deleted ? " (deleted)" : ""}`)),
    el("section", { class: "card" }, el("h2", {}, "Notes"), listed(notes?.entries ?? [], (entry) => shorten(entry.title || entry.content, 200))));
}

function listed(items, words) {
  return items.length ? el("ul", { class: "plain" }, items.map((item) => el("li", {}, words(item)))) : el("p", { class: "quiet" }, "Nothing.");
}

async function drawConflicts(body, names) {
  const found = [];
  for (const into of names) {
    const part = await tryCall("graph_conflicts", { into, status: "open", limit: 50 });
    for (const conflict of part?.conflicts ?? []) found.push((await call("graph_conflict_show", { conflict_id: conflict.conflict_id })).conflict);
  }
  replace(body, found.length ? found.map((conflict) => conflictCard(conflict, () => drawConflicts(body, names))) : el("p", { id: "no-conflicts" }, "No open conflicts."));
}

function conflictCard(conflict, again) {
  const side = (title, value) => el("section", { class: "card" }, el("h3", {}, title), el("pre", { class: "text" }, value ? JSON.stringify(plain(value), null, 2) : "(not there)"));
  const resolve = async (resolution) => {
    await call("graph_conflict_resolve", { conflict_id: conflict.conflict_id, resolution });
    notice(`${conflict.key} resolved: ${resolution}`);
    await again();
  };
  const button = (label, resolution) => el("button", { type: "button", class: "primary", data: { resolution }, onclick: () => resolve(resolution) }, label);
  return el("article", { class: "card conflict", data: { conflict: conflict.conflict_id } }, el("h2", {}, `${conflict.kind} ${typeof conflict.key === "string" ? conflict.key : JSON.stringify(conflict.key)}`),
    el("p", { class: "quiet" }, `${conflict.from} into ${conflict.into} · ${conflict.doc} · `, ago(conflict.created_at_ms)),
    el("div", { class: "columns" }, side("Base", conflict.base), side(`Ours (${conflict.into})`, conflict.ours), side(`Theirs (${conflict.from})`, conflict.theirs)),
    el("p", {}, button("Take theirs", "use_from"), " ", button("Keep ours", "use_into")));
}

function plain({ type, title, text, status, tags, meta, deleted }) {
  return Object.fromEntries(Object.entries({ type, title, text, status, tags, meta, deleted }).filter(([, value]) => value !== null && value !== undefined && value !== false));
}
