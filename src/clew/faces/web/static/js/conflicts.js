// The conflicts that are open now, of every branch and document: the log says which were made and
// not decided since.

import { call, tryCall } from "./api.js";

const TYPES = ["graph_conflict_created", "graph_conflict_resolved"];
const LOOKED_AT = 500;
const MOST = 50;

export async function openConflicts() {
  const { events } = await call("events_list", {
    types: TYPES,
    limit: LOOKED_AT,
    max_chars: 1_000_000,
  });
  const last = new Map();
  for (const event of events) if (!last.has(event.subject)) last.set(event.subject, event.type);
  const ids = [...last.entries()]
    .filter(([, type]) => type === TYPES[0])
    .map(([id]) => id)
    .slice(0, MOST);
  const found = await Promise.all(
    ids.map((id) => tryCall("graph_conflict_show", { conflict_id: id, max_chars: 200_000 })),
  );
  return found.map((part) => part?.conflict).filter((conflict) => conflict?.status === "open");
}

export function keyText({ kind, key }) {
  if (kind !== "edge" && typeof key === "string") return key;
  return key && typeof key === "object" ? `${key.from} ${key.rel} ${key.to}` : String(key);
}
