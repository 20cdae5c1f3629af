// Who works here: agents that wrote, runners that report, thought sessions that go on.

import { ago, el, shorten } from "../../dom.js";
import { describe } from "../../happenings.js";
import { badge, card, nothing } from "../../parts.js";
import { link } from "../../router.js";
import { runnersOf } from "../jobs/radar.js";

const LATELY = 10 * 60 * 1000;
const SHOWN = 10;

export function workersOf({ agents, radar, sessions, names }) {
  const runners = runnersOf(radar).map((runner) => runnerRow(runner, names));
  const known = new Set(runners.flatMap(({ name }) => [name, name.replace(/^runner:/, "")]));
  const writers = (agents?.agents ?? [])
    .filter((item) => !known.has(item.agent))
    .map((item) => agentRow(item, names));
  const open = (sessions?.sessions ?? [])
    .filter((item) => item.status === "active")
    .slice(0, 5)
    .map(sessionRow);
  return [...runners, ...writers, ...open].sort((a, b) => b.at - a.at);
}

function agentRow({ agent, events, last }, names) {
  const line = describe(last, names);
  return {
    kind: "agent",
    name: agent,
    text: `${line.said}: ${line.text}`,
    href: line.href,
    at: last.ts_ms,
    active: lately(last.ts_ms),
    note: `${events} events`,
  };
}

function runnerRow(runner, names) {
  const job = runner.active_job_id;
  const text = job
    ? `works on ${job} ${names.get(job) ?? ""}`
    : runner.status === "offline"
      ? "gone quiet"
      : "waits for a job";
  return {
    kind: "runner",
    name: runner.runner_id,
    text,
    href: job ? link("now", "job", job) : link("now", "job"),
    at: runner.updated_at_ms,
    active: runner.status !== "offline",
    tone: runner.status === "offline" ? "bad" : "good",
    note: runner.status,
  };
}

function sessionRow(item) {
  const at = Date.parse(item.updatedAt);
  return {
    kind: "session",
    name: item.title || "Untitled session",
    text: `${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"}`,
    href: link("now", "session", item.id),
    at,
    active: lately(at),
  };
}

const lately = (at) => Date.now() - at < LATELY;

export function workersCard(workers) {
  return card(
    "Who is working",
    { id: "workers" },
    workers.length
      ? el("ul", { class: "lines", data: { key: "list" } }, workers.slice(0, SHOWN).map(row))
      : nothing(
          "No agent has written here yet. Agents are told apart by CLEW_AGENT_ID; runners by clew runner.",
        ),
    workers.length > SHOWN ? nothing(`and ${workers.length - SHOWN} more`) : null,
  );
}

function row(worker) {
  return el(
    "li",
    { data: { worker: worker.name } },
    el("span", {
      class: `dot ${worker.active ? "active" : ""}`,
      title: worker.active ? "active" : "quiet",
    }),
    el("strong", {}, shorten(worker.name, 50)),
    badge(worker.kind),
    worker.note === "offline" ? badge("offline", "bad") : null,
    ago(worker.at),
    el(
      "p",
      { class: "quiet" },
      worker.href
        ? el("a", { href: worker.href }, shorten(worker.text, 110))
        : shorten(worker.text, 110),
    ),
  );
}
