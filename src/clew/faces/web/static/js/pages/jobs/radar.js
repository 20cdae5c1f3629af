// Runners and jobs; those that need a person come first, with the reason.

import { call } from "../../api.js";
import { clewCommand } from "../../commands.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, card, command, head, nothing, several, teach } from "../../parts.js";
import { link } from "../../router.js";

// The same marks that the radar's lines have.
const MARKS = [
  ["has_error", "!", "reports an error", "bad"],
  ["needs_manager", "?", "asks you", "warn"],
  ["needs_proof", "!", "needs proof", "warn"],
  ["stale", "~", "has gone silent", "bad"],
];
const STATES = { RUNNING: "info", QUEUED: "", DONE: "good", FAILED: "bad", CANCELED: "" };

export async function radarParts() {
  const [found, all] = await Promise.all([
    call("tasks_jobs_radar", { limit: 100, offline_limit: 20, fmt: "json", max_chars: 1_000_000 }),
    call("tasks_jobs_list", { limit: 100, fmt: "json", max_chars: 1_000_000 }),
  ]);
  const seen = new Set(found.jobs.map((job) => job.job_id));
  const ended = all.jobs.filter((job) => !seen.has(job.job_id));
  const runners = runnersOf(found);
  const waiting = found.jobs.filter(attention).length;
  const lead =
    found.jobs.length || ended.length
      ? `${several(found.jobs.length, "open job")} · ${waiting ? `${waiting} ${waiting === 1 ? "waits" : "wait"} for you` : "none needs you"}`
      : "";
  return [
    head("Jobs", lead),
    el(
      "div.split",
      { key: "split" },
      el(
        "div.stack",
        { key: "jobs" },
        found.jobs.length
          ? card(
              "Open",
              { id: "open-jobs", count: found.jobs.length },
              el("ul.lines", { key: "list" }, found.jobs.map(jobRow)),
            )
          : empty(),
        ended.length
          ? card("Ended", { id: "ended-jobs", count: ended.length }, el("ul.lines", { key: "list" }, ended.map(jobRow)))
          : null,
        all.has_more ? nothing("Older jobs are left out.") : null,
      ),
      runnersCard(runners, found),
    ),
  ];
}

// A runner with an expired lease is offline, whatever status it reported last.
export function runnersOf(radar) {
  const gone = (radar?.runner_leases_offline?.runners ?? []).map((runner) => ({
    ...runner,
    status: "offline",
    active_job_id: null,
  }));
  return [...(radar?.runner_leases?.runners ?? []), ...gone];
}

function stateBadge(status) {
  return badge(status.toLowerCase(), STATES[status]);
}

function attention(job) {
  return MARKS.find(([name]) => job.attention?.[name]);
}

// What a job needs from a person, as a badge; null if nothing.
export function attentionBadge(job) {
  const mark = attention(job);
  return mark
    ? el("span", { class: `badge ${mark[3]} attention` }, el("b", { "aria-hidden": "true" }, mark[1]), ` ${mark[2]}`)
    : null;
}

function jobRow(job) {
  return el(
    "li",
    { key: job.job_id, data: { job: job.job_id } },
    attentionBadge(job),
    stateBadge(job.status),
    job.runner_state === "offline" ? badge("runner offline", "bad") : null,
    el("a.what", { href: link("now", "job", job.job_id) }, shorten(job.title, 100)),
    el("span.id", job.job_id),
    ago(job.updated_at_ms),
    job.last?.message && job.last.kind !== "created"
      ? el("p.quiet", `${job.runner ? `${job.runner} ` : ""}${job.last.kind}: ${shorten(job.last.message, 200)}`)
      : job.summary
        ? el("p.quiet", shorten(job.summary, 200))
        : null,
  );
}

function runnersCard(runners, found) {
  const issues = found.runner_diagnostics?.issues ?? [];
  return el(
    "aside#runners.card",
    { key: "runners" },
    el("h2", "Runners"),
    runners.length
      ? el("ul.lines", runners.map(runnerRow))
      : found.jobs.length
        ? [nothing("No runner has connected. Start one on the server:"), command(clewCommand("runner"))]
        : nothing("No runner has connected."),
    issues.map((issue) =>
      el("p.quiet", badge(issue.severity, issue.severity === "error" ? "bad" : "warn"), " ", issue.message),
    ),
  );
}

function runnerRow(runner) {
  const tone = { live: "good", offline: "bad" }[runner.status] ?? "";
  return el(
    "li",
    { data: { runner: runner.runner_id } },
    badge(runner.status, tone),
    el("strong.what", runner.runner_id),
    ago(runner.updated_at_ms),
    el(
      "p.quiet",
      runner.active_job_id
        ? ["works on ", el("a", { href: link("now", "job", runner.active_job_id) }, runner.active_job_id)]
        : runner.status === "offline"
          ? "its lease has run out"
          : "waits for a job",
    ),
  );
}

const empty = () =>
  teach(
    "Nothing is queued or running",
    "A job is work handed to a runner in another process. What it asks and reports appears here, and you can answer it.",
  );
