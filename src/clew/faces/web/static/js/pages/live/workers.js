// Who works here: agents that wrote, runners that report, thought sessions that go on. Each is one row.

import { STATUS } from "../../facts.js";
import { byWords } from "../../people.js";
import { link } from "../../router.js";
import { spoken } from "../home/digest.js";
import { runnersOf } from "../jobs/radar.js";

const LATELY = 10 * 60 * 1000;
const SESSIONS = 8;
export const UNNAMED = "without a name";

const lately = (at) => Date.now() - at < LATELY;

/**
 * @typedef {{kind: string, name: string, words: string, state: string, active: boolean, at: number,
 *   href: string, text: string, textHref: string | null}} Worker
 * @returns {Worker[]}
 */
export function workersOf({ line, radar, sessions, done }) {
  const runners = runnersOf(radar).map((runner) => runnerRow(runner, radar));
  const known = new Set(runners.map(({ name }) => name.replace(/^runner:/, "")));
  const agents = line.rows
    .filter(({ agent }) => !known.has(String(agent).replace(/^runner:/, "")))
    .map((row) => agentRow(row, done));
  const open = (sessions?.sessions ?? [])
    .filter((item) => item.status === STATUS.ACTIVE || Date.parse(item.updatedAt) > line.from_ms)
    .slice(0, SESSIONS)
    .map(sessionRow);
  const order = (rows) => rows.sort((a, b) => b.at - a.at);
  return [...order(agents), ...order(runners), ...order(open)];
}

function agentRow({ agent, last }, done) {
  const own = done.authors.find(({ name }) => name === agent)?.sentences[0];
  const active = lately(last.ts_ms);
  return {
    kind: "agent",
    name: agent ?? UNNAMED,
    words: agent ? byWords(agent) : UNNAMED,
    state: active ? "active" : "quiet",
    active,
    at: last.ts_ms,
    href: agent ? link("home", "agents", agent) : link("home"),
    text: own ? spoken(own) : "",
    textHref: null,
  };
}

// The reported state of a runner is valid only during its lease.
function runnerRow(runner, radar) {
  const job = runner.active_job_id;
  const offline = runner.status === "offline";
  const works = (radar?.jobs ?? []).find((one) => one.job_id === job);
  return {
    kind: "runner",
    name: runner.runner_id,
    words: runner.runner_id.replace(/^runner:/, ""),
    state: offline ? "offline" : runner.status,
    active: !offline,
    at: runner.updated_at_ms,
    href: link("now", "job"),
    text: job ? `works on ${job} ${works?.title ?? ""}` : offline ? "its lease has run out" : "waits for a job",
    textHref: job ? link("now", "job", job) : null,
  };
}

function sessionRow(item) {
  const at = Date.parse(item.updatedAt);
  const title = item.title || "Reasoning without a title";
  const active = item.status === STATUS.ACTIVE && lately(at);
  const href = link("now", "session", item.id);
  return {
    kind: "session",
    name: title,
    words: title,
    state: item.status === STATUS.ACTIVE ? (active ? "active" : "quiet") : item.status,
    active,
    at,
    href,
    text: `${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"}`,
    textHref: href,
  };
}
