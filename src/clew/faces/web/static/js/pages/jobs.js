// Who works, who waits for you, and the thread of each job.

import { ago, el, notice, replace, shorten } from "../dom.js";
import { call, knows } from "../api.js";
import { feed } from "../socket.js";
import { link } from "../router.js";

export async function show(main, [id]) {
  if (!knows("tasks_jobs_radar")) return void replace(main, el("section", { class: "empty" }, el("p", {}, "This Clew delegates no jobs.")));
  const draw = () => (id ? drawJob(main, id) : drawRadar(main));
  await draw();
  let waiting = 0;
  return feed.on("events", (event, data) => {
    if (!event.startsWith("job") && !event.startsWith("runner") && data.topic !== "jobs") return;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 200);
  });
}

async function drawRadar(main) {
  const found = await call("tasks_jobs_radar", { limit: 100, fmt: "json", max_chars: 1_000_000 });
  const all = await call("tasks_jobs_list", { limit: 100, fmt: "json", max_chars: 1_000_000 });
  const seen = new Set(found.jobs.map((job) => job.job_id));
  const ended = all.jobs.filter((job) => !seen.has(job.job_id));
  const runners = [...(found.runner_leases?.runners ?? []), ...(found.runner_leases_offline?.runners ?? [])];
  replace(main, el("div", { class: "page" }, el("h1", {}, "Jobs"),
    el("section", { class: "card", id: "runners" }, el("h2", {}, "Runners"), runners.length ? el("ul", { class: "plain" }, runners.map(runnerRow)) : el("p", { class: "quiet" }, "No runner is known; clew runner starts one.")),
    el("section", { class: "card", id: "open-jobs" }, el("h2", {}, "Open"), found.jobs.length ? el("ul", { class: "plain" }, found.jobs.map(jobRow)) : el("p", { class: "quiet" }, "Nothing is queued or running.")),
    el("section", { class: "card" }, el("h2", {}, "Ended"), ended.length ? el("ul", { class: "plain" }, ended.map(jobRow)) : el("p", { class: "quiet" }, "None yet."))));
}

function runnerRow(runner) {
  return el("li", {}, el("span", { class: `badge ${runner.status === "live" ? "good" : runner.status === "offline" ? "bad" : ""}` }, runner.status), ` ${runner.runner_id} `, runner.active_job_id ? el("a", { href: link("jobs", runner.active_job_id) }, runner.active_job_id) : null);
}

function jobRow(job) {
  const needs = job.attention ?? {};
  const mark = needs.has_error ? ["bad", "error"] : needs.needs_manager ? ["warn", "asks you"] : needs.needs_proof ? ["warn", "needs proof"] : needs.stale ? ["bad", "stale"] : null;
  return el("li", { data: { job: job.job_id } }, mark ? el("span", { class: `badge ${mark[0]}` }, mark[1]) : null, " ", el("a", { href: link("jobs", job.job_id) }, job.job_id), ` ${shorten(job.title, 100)} `, el("span", { class: "quiet" }, `${job.status} · ${job.priority} · `, ago(job.updated_at_ms)), job.last ? el("p", { class: "quiet" }, `${job.last.kind}: ${shorten(job.last.message ?? "", 160)}`) : null);
}

async function drawJob(main, id) {
  const found = await call("tasks_jobs_open", { job: id, include_prompt: true, include_events: true, max_events: 100, fmt: "json", max_chars: 1_000_000 });
  const job = found.job;
  const text = el("textarea", { rows: 3, required: true, maxlength: 4000, "aria-label": "Reply", placeholder: "Reply to the runner" });
  // What somebody is typing survives the news that arrives meanwhile.
  text.value = main.querySelector("form[data-job] textarea")?.value ?? "";
  const reply = async (event) => {
    event.preventDefault();
    try { await call("tasks_jobs_message", { job: id, message: text.value }); text.value = ""; notice("Sent"); main.querySelector("form[data-job]")?.reset(); await drawJob(main, id); } catch (problem) { notice(problem.message, "bad"); }
  };
  replace(main, el("div", { class: "page" }, el("p", {}, el("a", { href: link("jobs") }, "← Jobs")), el("h1", {}, `${job.job_id} ${shorten(job.title, 140)}`),
    el("p", { class: "quiet" }, `${job.status} · ${job.priority} · ${job.kind}${job.runner ? ` · ${job.runner}` : ""} · `, ago(job.updated_at_ms)), job.summary ? el("p", {}, job.summary) : null,
    found.prompt ? el("details", {}, el("summary", {}, "Prompt"), el("pre", { class: "text" }, found.prompt)) : null,
    el("ol", { class: "log thread", id: "thread" }, [...found.events].sort((a, b) => a.seq - b.seq).map((event) => el("li", {}, ago(event.ts_ms), " ", el("strong", {}, event.kind), ` ${event.message ?? ""} `, el("span", { class: "quiet" }, (event.refs ?? []).join(" "))))),
    el("form", { class: "ask", data: { job: id }, onsubmit: reply }, text, el("button", { class: "primary" }, "Reply"))));
}
