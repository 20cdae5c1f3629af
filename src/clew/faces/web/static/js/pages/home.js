// What changed since you last looked, who is working, what needs you.

import { ago, el, replace, shorten } from "../dom.js";
import { knows, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { link } from "../router.js";
import { state } from "../state.js";

export async function show(main) {
  const sessions = knows("session_list") ? await tryCall("session_list", { limit: 8 }) : null;
  const cards = el("div", { class: "columns" },
    el("section", { class: "card", id: "needs-you" }, el("h2", {}, "Needs you"), needList(await needs())),
    el("section", { class: "card" }, el("h2", {}, "Sessions"), sessionList(sessions?.sessions ?? [])));
  const waiting = el("li", { class: "quiet" }, "Whatever any process writes from now on appears here.");
  const log = el("ol", { class: "log", id: "log" }, waiting);
  replace(main, el("div", { class: "page" }, el("h1", {}, `Workspace ${state.workspace}`), cards,
    el("section", { class: "card" }, el("h2", {}, "As it happens"), log)));
  return feed.on("events", (event, data) => {
    if (!data.topic) return;
    waiting.remove();
    log.prepend(el("li", {}, ago(data.ts_ms), " ", el("strong", {}, data.type), ` ${shorten(data.subject ?? "", 80)}`));
    while (log.children.length > 100) log.lastChild.remove();
  });
}

// Proposals that wait for a decision, and jobs that wait for an answer.
async function needs() {
  const [review, radar] = await Promise.all([
    knows("list_proposals") ? tryCall("list_proposals", { limit: 50 }) : null,
    knows("tasks_jobs_radar") ? tryCall("tasks_jobs_radar", { limit: 50, fmt: "json", max_chars: 200_000 }) : null,
  ]);
  const proposals = (review?.proposals ?? []).filter((item) => item.status === "staged");
  const jobs = (radar?.jobs ?? []).filter(({ attention }) => attention?.has_error || attention?.needs_manager || attention?.needs_proof || attention?.stale);
  return [
    ...proposals.map((item) => [link("memory", "review"), item.proposal_id, item.says]),
    ...jobs.map((item) => [link("jobs", item.job_id), item.job_id, item.title]),
  ];
}

function needList(items) {
  if (!items.length) return el("p", { class: "quiet" }, "Nothing waits for you.");
  return el("ul", { class: "plain" }, items.slice(0, 12).map(([href, id, text]) => el("li", {}, el("a", { href }, id), ` ${shorten(text, 100)}`)));
}

function sessionList(sessions) {
  if (!sessions.length) return el("p", { class: "quiet" }, "None yet.");
  return el("ul", { class: "plain" }, sessions.map((item) => el("li", {},
    el("a", { href: link("reasoning", item.id) }, shorten(item.title, 80)), " ", el("span", { class: "quiet" }, `${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"} · `, ago(item.updatedAt)))));
}
