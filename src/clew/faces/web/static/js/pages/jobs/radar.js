// Runners and jobs; those that need somebody come first and say what they need.

import { call } from "../../api.js";
import { clewCommand } from "../../commands.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, callText, card, command, head, nothing, several, teach } from "../../parts.js";
import { link } from "../../router.js";

// The same marks that the radar's lines have.
export const MARKS = [
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
      ? `${several(found.jobs.length, "open job")} · ${waiting ? `${waiting} ${waiting === 1 ? "needs" : "need"} somebody` : "none needs you"}`
      : "";
  return [
    head("Jobs", lead),
    el(
      "div",
      { class: "split", data: { key: "split", list: "" } },
      el(
        "div",
        { class: "stack", data: { key: "jobs", list: "" } },
        found.jobs.length
          ? card(
              "Open",
              { id: "open-jobs", count: found.jobs.length },
              el("ul", { class: "lines", data: { key: "list", list: "" } }, found.jobs.map(jobRow)),
            )
          : empty(),
        ended.length
          ? card(
              "Ended",
              { id: "ended-jobs", count: ended.length },
              el("ul", { class: "lines", data: { key: "list", list: "" } }, ended.map(jobRow)),
            )
          : null,
        all.has_more ? nothing("Older jobs are left out.") : null,
      ),
      runnersCard(runners, found),
    ),
  ];
}

// A runner whose lease has run out is offline, whatever it said of itself the last time.
export function runnersOf(radar) {
  const gone = (radar?.runner_leases_offline?.runners ?? []).map((runner) => ({
    ...runner,
    status: "offline",
    active_job_id: null,
  }));
  return [...(radar?.runner_leases?.runners ?? []), ...gone];
}

export function stateBadge(status) {
  return badge(status.toLowerCase(), STATES[status]);
}

function attention(job) {
  return MARKS.find(([name]) => job.attention?.[name]);
}

// What a job wants of a person, as a badge; null when it wants nothing.
export function attentionBadge(job) {
  const mark = attention(job);
  return mark
    ? el(
        "span",
        { class: `badge ${mark[3]} attention` },
        el("b", { "aria-hidden": "true" }, mark[1]),
        ` ${mark[2]}`,
      )
    : null;
}

function jobRow(job) {
  return el(
    "li",
    { data: { key: job.job_id, job: job.job_id } },
    attentionBadge(job),
    stateBadge(job.status),
    el("a", { class: "what", href: link("now", "job", job.job_id) }, shorten(job.title, 100)),
    el("span", { class: "id" }, job.job_id),
    ago(job.updated_at_ms),
    job.last?.message && job.last.kind !== "created"
      ? el(
          "p",
          { class: "quiet" },
          `${job.runner ? `${job.runner} ` : ""}${job.last.kind}: ${shorten(job.last.message, 200)}`,
        )
      : job.summary
        ? el("p", { class: "quiet" }, shorten(job.summary, 200))
        : null,
  );
}

function runnersCard(runners, found) {
  const issues = found.runner_diagnostics?.issues ?? [];
  return el(
    "aside",
    { class: "card", id: "runners", data: { key: "runners" } },
    el("h2", {}, "Runners"),
    runners.length
      ? el("ul", { class: "lines" }, runners.map(runnerRow))
      : [
          nothing("No runner is known. One is started beside the server:"),
          command(found.runner_bootstrap?.cmd ?? clewCommand("runner")),
        ],
    issues.map((issue) =>
      el(
        "p",
        { class: "quiet" },
        badge(issue.severity, issue.severity === "error" ? "bad" : "warn"),
        " ",
        issue.message,
      ),
    ),
  );
}

function runnerRow(runner) {
  const tone = { live: "good", offline: "bad" }[runner.status] ?? "";
  return el(
    "li",
    { data: { runner: runner.runner_id } },
    badge(runner.status, tone),
    el("strong", { class: "what" }, runner.runner_id),
    ago(runner.updated_at_ms),
    el(
      "p",
      { class: "quiet" },
      runner.active_job_id
        ? [
            "works on ",
            el("a", { href: link("now", "job", runner.active_job_id) }, runner.active_job_id),
          ]
        : runner.status === "offline"
          ? "its lease has run out"
          : "waits for a job",
    ),
  );
}

function empty() {
  return teach(
    "Nothing is queued or running",
    "A job is work handed to a runner in another process. What it asks and reports appears here, and you can answer it.",
    callText("tasks_jobs_create", {
      title: "Measure the lock",
      prompt: "Run make bench and report p95.",
    }),
    clewCommand("runner"),
  );
}
