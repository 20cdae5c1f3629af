// Everything that the home page asks, at once. A part that this Clew does not have, or that
// refuses, is left out.

import { call, tryCall } from "../../api.js";
import { openConflicts } from "../../conflicts.js";
import { needsOf } from "./needs.js";
import { workersOf } from "./workers.js";

export const ROOM = 1_000_000;
const EVENTS = 300;

export async function gather(mark) {
  const [
    events,
    newest,
    agents,
    work,
    radar,
    jobs,
    sessions,
    proposals,
    contradictions,
    overdue,
    blocks,
    conflicts,
  ] = await Promise.all([
    call("events_list", { after: mark, limit: EVENTS, max_chars: ROOM }),
    call("events_list", { limit: 40, max_chars: ROOM }),
    tryCall("agents_active", { limit: 12 }),
    tryCall("tasks_context", {
      tasks_limit: 200,
      plans_limit: 100,
      include_all: true,
      max_chars: ROOM,
    }),
    tryCall("tasks_jobs_radar", { limit: 50, offline_limit: 10, fmt: "json", max_chars: ROOM }),
    tryCall("tasks_jobs_list", { limit: 100, fmt: "json", max_chars: ROOM }),
    tryCall("session_list", { limit: 30 }),
    tryCall("list_proposals", { limit: 100 }),
    // Only reads: the operation that lists them also settles them, and this page is drawn often.
    tryCall("list_blocks", { kind: "contradiction", status: "open", limit: 50, max_chars: ROOM }),
    tryCall("list_blocks", { overdue: true, limit: 50, max_chars: ROOM }),
    tryCall("list_blocks", { kind: "any", limit: 200, max_chars: ROOM }),
    openConflicts(),
  ]);
  const blocked = await blockedSteps(work?.tasks ?? []);
  const names = namesOf({
    work,
    jobs,
    sessions,
    proposals,
    blocks,
    events: [...events.events, ...newest.events],
  });
  await nameCards([...events.events, ...newest.events], names);
  return {
    changes: events,
    newest,
    last: newest.last_seq,
    names,
    needs: needsOf({ proposals, radar, conflicts, contradictions, overdue, blocked }, names),
    workers: workersOf({ agents, radar, sessions, names }),
  };
}

// Steps that are blocked now, of the tasks in work; the log says which tasks ever had one.
async function blockedSteps(tasks) {
  const ever = await tryCall("events_list", {
    types: ["step_blocked"],
    limit: 50,
    max_chars: ROOM,
  });
  const open = new Set(
    tasks.filter((task) => !["DONE", "CANCELED"].includes(task.status)).map((task) => task.id),
  );
  const wanted = [...new Set((ever?.events ?? []).map((event) => event.subject))]
    .filter((id) => open.has(id))
    .slice(0, 10);
  const found = await Promise.all(
    wanted.map((task) => tryCall("tasks_resume", { task, read_only: true, events_limit: 0 })),
  );
  return found.flatMap((part) =>
    (part?.steps ?? [])
      .filter((step) => step.blocked && !step.completed)
      .map((step) => ({ ...step, task: part.target.id })),
  );
}

// Cards are many; only those that the news are about are asked for.
async function nameCards(events, names) {
  const ids = [
    ...new Set(
      events
        .filter((event) => event.type.startsWith("card_") && event.subject)
        .map((event) => event.subject),
    ),
  ].slice(0, 20);
  const found = await Promise.all(ids.map((id) => tryCall("open", { id, verbosity: "compact" })));
  found.forEach((card, index) => {
    if (card?.summary) names.set(ids[index], card.summary);
  });
}

// Titles by id, from whatever was asked anyway.
function namesOf({ work, jobs, sessions, proposals, blocks, events }) {
  const names = new Map();
  for (const item of [...(work?.plans ?? []), ...(work?.tasks ?? [])])
    names.set(item.id, item.title);
  for (const item of jobs?.jobs ?? []) names.set(item.job_id, item.title);
  for (const item of sessions?.sessions ?? []) names.set(item.id, item.title);
  for (const item of blocks?.blocks ?? []) names.set(item.block_id, item.says);
  for (const item of proposals?.proposals ?? []) names.set(item.proposal_id, item.says);
  for (const event of events)
    for (const step of event.payload?.steps ?? [])
      if (step.path && step.title) names.set(`${event.subject} ${step.path}`, step.title);
  return names;
}
