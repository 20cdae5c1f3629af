// The log of a workspace with the names of what it speaks of, in three calls.

import { call, tryCall } from "../../api.js";

export const ROOM = 1_000_000;
const EVENTS = 300;
const NEWEST = 40;
const NAMED = 200;

// What came after `mark` (nothing when there is none), the newest events, and titles by id.
export async function gather(mark = null) {
  const [changes, newest] = await Promise.all([
    mark === null ? null : call("events_list", { after: mark, limit: EVENTS, max_chars: ROOM }),
    call("events_list", { limit: NEWEST, max_chars: ROOM }),
  ]);
  const names = await namesOf([...(changes?.events ?? []), ...newest.events]);
  return { changes, newest, last: newest.last_seq, names };
}

// Titles by id: what the events say themselves, then one question for all others.
export async function namesOf(events, also = []) {
  const names = new Map();
  for (const event of events)
    for (const step of event.payload?.steps ?? [])
      if (step.path && step.title) names.set(`${event.subject} ${step.path}`, step.title);
  const subjects = events
    .filter((event) => event.subject && (!event.payload?.title || event.path))
    .map((event) => event.subject);
  const ids = [...new Set([...also, ...subjects])].filter(Boolean).slice(0, NAMED);
  const found = ids.length ? await tryCall("record_names", { ids }) : null;
  for (const { id, title } of found?.names ?? []) if (title !== id) names.set(id, title);
  return names;
}
