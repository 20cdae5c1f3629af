// Who works here: agents that wrote, runners that report, thought sessions that go on. Each is one
// row of the axis and one row of the table beside it.

import { describe } from "../../happenings.js";
import { byWords } from "../../people.js";
import { link } from "../../router.js";
import { runnersOf } from "../jobs/radar.js";

const LATELY = 10 * 60 * 1000;
const SESSIONS = 8;
export const UNNAMED = "without a name";

const lately = (at) => Date.now() - at < LATELY;

/**
 * @typedef {{kind: string, name: string, words: string, state: string, active: boolean, at: number,
 *   href: string, text: string, textHref: string | null, count: number,
 *   pieces: {slot: number, topic: string, events: number}[], bars: {from: number, to: number,
 *   words: string, href: string, open: boolean}[]}} Worker
 * @returns {Worker[]}
 */
export function workersOf({ line, radar, sessions, names }) {
  const runners = runnersOf(radar).map((runner) => runnerRow(runner, radar, line, names));
  const known = new Set(runners.map(({ name }) => name.replace(/^runner:/, "")));
  const agents = line.rows
    .filter(({ agent }) => !known.has(String(agent).replace(/^runner:/, "")))
    .map((row) => agentRow(row, names));
  const open = (sessions?.sessions ?? [])
    .filter((item) => item.status === "active" || Date.parse(item.updatedAt) > line.from_ms)
    .slice(0, SESSIONS)
    .map(sessionRow);
  const order = (rows) => rows.sort((a, b) => b.at - a.at);
  return [...order(agents), ...order(runners), ...order(open)];
}

function agentRow({ agent, events, pieces, last }, names) {
  const { said, text, href } = describe(last, names);
  const active = lately(last.ts_ms);
  return {
    kind: "agent",
    name: agent ?? UNNAMED,
    words: agent ? byWords(agent) : UNNAMED,
    state: active ? "active" : "quiet",
    active,
    at: last.ts_ms,
    href: agent ? link("agents", agent) : link("history", "log"),
    text: text ? `${said}: ${text}` : said,
    textHref: href,
    count: events,
    pieces,
    bars: [],
  };
}

// What a runner says of itself counts only as long as its lease.
function runnerRow(runner, radar, line, names) {
  const job = runner.active_job_id;
  const offline = runner.status === "offline";
  const own = line.rows.find(({ agent }) => agent === runner.runner_id);
  const jobs = (radar?.jobs ?? []).filter((one) => one.runner === runner.runner_id);
  return {
    kind: "runner",
    name: runner.runner_id,
    words: runner.runner_id.replace(/^runner:/, ""),
    state: offline ? "offline" : runner.status,
    active: !offline,
    at: runner.updated_at_ms,
    href: link("now", "job"),
    text: job
      ? `works on ${job} ${names.get(job) ?? jobs.find((one) => one.job_id === job)?.title ?? ""}`
      : offline
        ? "its lease has run out"
        : "waits for a job",
    textHref: job ? link("now", "job", job) : null,
    count: own?.events ?? 0,
    pieces: own?.pieces ?? [],
    bars: jobs.map((one) => ({
      from: one.created_at_ms,
      to: offline ? one.updated_at_ms : line.to_ms,
      words: `${one.job_id} ${one.title}`,
      href: link("now", "job", one.job_id),
      open: !offline,
    })),
  };
}

function sessionRow(item) {
  const at = Date.parse(item.updatedAt);
  const title = item.title || "Untitled session";
  const active = item.status === "active" && lately(at);
  const href = link("now", "session", item.id);
  return {
    kind: "session",
    name: title,
    words: title,
    state: item.status === "active" ? (active ? "active" : "quiet") : item.status,
    active,
    at,
    href,
    text: `${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"}`,
    textHref: href,
    count: item.thoughtCount,
    pieces: [],
    bars: [{ from: Date.parse(item.createdAt), to: at, words: title, href, open: active }],
  };
}
