// Memory: ask it and see why it answers so, review what waits, look at what contradicts and what is overdue.

import { el, notice, replace, shorten } from "../dom.js";
import { call, knows, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { link } from "../router.js";

const VIEWS = [["", "Recall"], ["review", "Review"], ["contradictions", "Contradictions"], ["health", "Health"]];
const SOURCES = ["block", "card", "note", "thought", "task", "evidence", "pattern"];

export async function show(main, [view, ...rest]) {
  if (!knows("recall")) return void replace(main, el("section", { class: "empty" }, el("p", {}, "This Clew has no governed memory.")));
  const body = el("div", { id: "memory" });
  const tabs = VIEWS.map(([name, title]) => el("a", { href: name ? link("memory", name) : link("memory"), "aria-current": (view ?? "") === name ? "page" : null }, title));
  replace(main, el("div", { class: "page" }, el("div", { class: "stage-head" }, el("h1", {}, "Memory"), el("nav", { class: "tabs", "aria-label": "View" }, tabs)), body));
  const draw = { review: drawReview, contradictions: drawContradictions, health: drawHealth }[view];
  if (!draw) return void drawRecall(body, rest[0]);
  await draw(body);
  return feed.on("events", (event, data) => { if (data.topic === "memory") draw(body); });
}

function drawRecall(body) {
  const words = el("input", { type: "search", id: "query", required: true, placeholder: "Ask what is known ( / )", "aria-label": "Question" });
  const sources = el("select", { id: "sources", "aria-label": "Sources" }, el("option", { value: "" }, "memory files"), el("option", { value: "all" }, "everything"), SOURCES.map((name) => el("option", { value: name }, name)));
  const active = el("input", { type: "checkbox", id: "active" });
  const results = el("div", { id: "results", "aria-live": "polite" });
  const form = el("form", { class: "ask", onsubmit: ask }, words, sources, el("label", {}, active, " active only"), el("button", { class: "primary" }, "Recall"));
  async function ask(event) {
    event.preventDefault();
    try {
      const given = { query: words.value, limit: 20, explain: true, active_only: active.checked };
      drawResults(results, await call("recall", sources.value ? { ...given, sources: [sources.value] } : given));
    } catch (problem) {
      replace(results, el("p", { class: "bad" }, problem.message));
    }
  }
  replace(body, form, results);
  words.focus();
}

function drawResults(results, found) {
  const about = found.analysis ?? {};
  replace(results, el("p", { class: "quiet", id: "intent" }, `Intent ${found.intent} · ${found.count} results · lexical ${found.arms.lexical ? "on" : "off"}, semantic ${found.arms.semantic ? "on" : "off"}${about.terms ? ` · terms ${about.terms.join(", ")}` : ""}`),
    found.results.length ? found.results.map(resultCard) : el("p", { id: "silence" }, "Nothing relevant is known.", found.nearest ? ` Nearest: ${found.nearest._id ?? ""}` : ""));
}

function resultCard(item) {
  const parts = item.explain?.parts ?? [];
  const most = Math.max(0.0001, ...parts.map((part) => Math.abs(part.part)));
  return el("article", { class: "card result", data: { ref: item._id } },
    el("header", {}, el("strong", {}, item._id), el("span", { class: "chip" }, item.type), el("span", { class: "badge" }, item.status || "-"), el("span", { class: "quiet" }, `${item.source} · ${item.age ?? ""}${item.file ? ` · ${item.file}:${item.line}` : ""}`), el("b", { class: "score" }, item.score)),
    el("p", {}, item.excerpt),
    item.review ? el("p", { class: "bad" }, `review: ${item.review}`) : null,
    parts.length ? el("details", {}, el("summary", {}, "Why"), el("table", {}, parts.map((part) => el("tr", {}, el("th", { scope: "row" }, part.feature), el("td", {}, el("meter", { min: 0, max: most, value: Math.abs(part.part) })), el("td", {}, `${part.value} × ${part.weight} = ${part.part}`))))) : null);
}

async function drawReview(body) {
  const { proposals } = await call("list_proposals", { limit: 50 });
  const waiting = proposals.filter((item) => ["staged", "deferred"].includes(item.status));
  const done = proposals.filter((item) => !waiting.includes(item));
  replace(body, el("h2", {}, `Waiting (${waiting.length})`), waiting.length ? waiting.map((item) => proposalCard(item, () => drawReview(body))) : el("p", { id: "queue-empty" }, "Nothing waits for you."),
    el("h2", {}, "Before"), done.map((item) => doneCard(item, () => drawReview(body))));
}

function proposalCard(item, again) {
  const diff = el("pre", { class: "text diff" }, "…");
  const reason = el("input", { placeholder: "Reason", "aria-label": "Reason", maxlength: 500 });
  const act = async (run, said) => {
    try { await run(); notice(said); await again(); } catch (problem) { notice(problem.message, "bad"); }
  };
  const reject = () => reason.value.trim() ? act(() => call("reject_proposal", { proposal_id: item.proposal_id, reason: reason.value }), "Rejected") : (reason.focus(), notice("Say why", "bad"));
  tryCall("approve_apply", { proposal_id: item.proposal_id, dry_run: true }).then((tried) => { diff.textContent = tried?.diff ?? tried?.message ?? "It cannot be applied as things stand."; });
  return el("article", { class: "card proposal", data: { proposal: item.proposal_id } }, el("header", {}, el("strong", {}, item.says), el("span", { class: "chip" }, item.type), el("span", { class: "badge" }, item.status)),
    el("p", { class: "quiet" }, `${item.proposal_id} → ${item.target} · risk ${item.risk}`), diff,
    el("p", { class: "row" }, el("button", { type: "button", class: "primary", data: { act: "approve" }, onclick: () => act(() => call("approve_apply", { proposal_id: item.proposal_id, dry_run: false }), "Applied") }, "Approve"), reason,
      el("button", { type: "button", data: { act: "reject" }, onclick: reject }, "Reject")));
}

function doneCard(item, again) {
  const back = async () => {
    try { await call("rollback_proposal", { receipt_ts: item.receipt_ts }); notice("Rolled back"); await again(); } catch (problem) { notice(problem.message, "bad"); }
  };
  return el("article", { class: "card" }, el("p", {}, el("strong", {}, shorten(item.says, 160)), " ", el("span", { class: "badge" }, item.status)), el("p", { class: "quiet" }, `${item.proposal_id} ${item.reason ?? ""}`),
    item.receipt_ts && item.status === "applied" ? el("button", { type: "button", data: { act: "rollback" }, onclick: back }, "Roll back") : null);
}

async function drawContradictions(body) {
  const found = knows("list_contradictions") ? await tryCall("list_contradictions") : null;
  const pairs = found?.contradictions ?? [];
  replace(body, pairs.length ? pairs.map(pairCard) : el("p", {}, "No contradictions are known."));
}

function pairCard(pair) {
  const sides = pair.sides ?? pair.blocks ?? [pair.a, pair.b].filter(Boolean);
  return el("article", { class: "card" }, el("p", { class: "quiet" }, `${pair.id ?? ""} ${pair.reason ?? ""} ${pair.confidence ?? ""}`),
    el("div", { class: "columns" }, sides.map((side) => el("pre", { class: "text" }, typeof side === "string" ? side : `${side.id ?? ""}\n${side.statement ?? JSON.stringify(side)}`))));
}

async function drawHealth(body) {
  const [scan, index] = await Promise.all([tryCall("scan"), tryCall("index_stats")]);
  const table = (title, values) => el("section", { class: "card" }, el("h2", {}, title), el("table", {}, Object.entries(values ?? {}).map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, typeof value === "object" ? JSON.stringify(value) : String(value))))));
  replace(body, el("div", { class: "columns" }, table("Checks", scan?.checks), table("Index", index)),
    (scan?.findings ?? []).map((finding) => el("p", { class: "card" }, typeof finding === "string" ? finding : `${finding.code ?? finding.check ?? ""} ${finding.message ?? JSON.stringify(finding)}`)));
}
