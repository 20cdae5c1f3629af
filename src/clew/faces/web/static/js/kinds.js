// One grammar for what things are: an icon of 16 by 16 in a column of its own, a word, and for
// thoughts and cards the colour of their kind. Lists, the panel, Ctrl-K and the graphs use it.

import { svg } from "./dom.js";
import { IDS, RECORD_KINDS } from "./facts.js";

// Paths are drawn with a stroke of 1.5 in the colour of the text around them.
const SHAPES = {
  decision: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM5 8.2l2.2 2.1L11.2 6",
  rejected: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8",
  rule: "M8 1.8l5 1.7v4c0 3.3-2.2 5.6-5 6.7-2.8-1.1-5-3.4-5-6.7v-4z",
  preference: "M2.5 5h6m3 0h2M2.5 11h2m3 0h6M10 3.4v3.2M6 9.4v3.2",
  fact: "M8 14.2V9.4M5 2h6l-.8 4 2 2.6H3.8l2-2.6z",
  lesson:
    "M8 4.2C6.6 3 4.8 2.6 2.2 2.6v9.6c2.6 0 4.4.4 5.8 1.6 1.4-1.2 3.2-1.6 5.8-1.6V2.6c-2.6 0-4.4.4-5.8 1.6zm0 0v9.6",
  note: "M3.4 1.9h6.2l3 3v9.2H3.4zM9.4 2v3.2h3M5.6 8h4.8M5.6 10.8h4.8",
  frame: "M2.4 3.4h11.2v9.2H2.4z",
  hypothesis: "M6 13.8h4M5.4 10.6a4.4 4.4 0 1 1 5.2 0c-.5.4-.6.8-.6 1.4H6c0-.6-.1-1-.6-1.4z",
  question: "M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.4-1 .8-1 1.6M8 12.4v.2M8 1.6a6.4 6.4 0 1 0 0 12.8A6.4 6.4 0 0 0 8 1.6z",
  test: "M6 1.9h4M6.8 2v4.4L3.4 12.6c-.4.8 0 1.5.9 1.5h7.4c.9 0 1.3-.7.9-1.5L9.2 6.4V2M5 10.4h6",
  evidence: "M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2zM10.4 10.4l3.4 3.4",
  update: "M13.4 8a5.4 5.4 0 1 1-1.6-3.8M12.6 1.8v2.8H9.8",
  thought: "M2.6 3.2h10.8v7.4H8.6L5.4 13.4v-2.8H2.6z",
  session: "M2 2.8h8.4v5.6H6L3.6 10.6V8.4H2zM8.4 10.4v.9h1.8l2.2 2V11.3H14V6.4h-1.6",
  plan: "M2.4 3.2l3.8-1.4 3.6 1.4 3.8-1.4v11l-3.8 1.4-3.6-1.4-3.8 1.4zM6.2 1.8v11M9.8 3.2v11",
  task: "M2.6 2.6h10.8v10.8H2.6zM5.2 8l2 2 3.6-4",
  step: "M4.4 4.4h7.2v7.2H4.4z",
  job: "M8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8zM8 1.6v2.2M8 12.2v2.2M1.6 8h2.2M12.2 8h2.2M3.5 3.5L5 5M11 11l1.5 1.5M12.5 3.5L11 5M5 11l-1.5 1.5",
  runner: "M4.4 2.6l8 5.4-8 5.4z",
  proposal: "M3.4 1.9h6.2l3 3v9.2H3.4zM8 6.2v5.2M5.4 8.8h5.2",
  contradiction: "M2 5.4h9.4L8.8 2.8M14 10.6H4.6l2.6 2.6",
  conflict: "M4 2.2v3.2c0 3 8 2.4 8 5.4v3M12 2.2v3.2c0 1-1 1.6-2.2 2.1M4 13.8v-3c0-1.1 1-1.7 2.3-2.2",
  signal:
    "M8 14V8.4M8 6.2a1.1 1.1 0 1 0 0 2.2 1.1 1.1 0 0 0 0-2.2zM5.2 10.2a4 4 0 0 1 0-5.8M10.8 10.2a4 4 0 0 0 0-5.8M3 12.2a7 7 0 0 1 0-9.8M13 12.2a7 7 0 0 0 0-9.8",
  anchor: "M8 1.8a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM8 5v9M5 7h6M2.4 9.4c.4 3 2.6 4.6 5.6 4.6s5.2-1.6 5.6-4.6",
  agent: "M8 2a2.8 2.8 0 1 0 0 5.6A2.8 2.8 0 0 0 8 2zM2.6 14c.4-3 2.4-4.6 5.4-4.6s5 1.6 5.4 4.6",
  receipt: "M3.6 1.8h8.8v12.4l-2.2-1.4L8 14.2l-2.2-1.4-2.2 1.4zM5.8 7.4l1.6 1.6 3-3.2",
  review: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.4V8l2.6 1.8",
  event: "M8 6.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2z",
  notebook: "M3.6 1.9h9v12.2h-9zM6 2v12M2.4 4.6h2.2M2.4 8h2.2M2.4 11.4h2.2",
  pattern: "M2.6 2.6h4.2v4.2H2.6zM9.2 2.6h4.2v4.2H9.2zM2.6 9.2h4.2v4.2H2.6zM9.2 9.2h4.2v4.2H9.2z",
  transcript: "M2.6 3h10.8M2.6 6.4h7M2.6 9.6h10.8M2.6 13h5",
  branch: "M4.4 2.2v11.6M4.4 9.6c0-3 7.2-1.4 7.2-5.4M11.6 2.2v2",
  drift: "M2 10.6c2-3.4 4-3.4 6 0s4 3.4 6 0M2 5.6c2-3.4 4-3.4 6 0s4 3.4 6 0",
  page: "M2.4 2.8h11.2v10.4H2.4zM2.4 5.8h11.2",
  action: "M9 1.6L3.2 9h4L6.6 14.4 12.8 7h-4z",
  insight: "M3 13.6V9.4M8 13.6V2.6M13 13.6V6.2",
  record: "M8 3.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2z",
};

const SAME = {
  block: "decision",
  person: "agent",
  incident: "signal",
  project: "plan",
  tool: "job",
  card: "frame",
  area: "anchor",
  doc_entry: "note",
  job_event: "job",
  block_task: "task",
  summary: "note",
  proof: "receipt",
  settings: "preference",
};
const WORDS = {
  anchor: "area",
  doc_entry: "note",
  receipt: "proof",
  session: "reasoning",
  rejected: "rejected alternative",
};

export function icon(kind) {
  const shape = SHAPES[kind] ?? SHAPES[SAME[kind]] ?? SHAPES.record;
  return svg(
    "svg.kind-icon",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
    svg("path", { d: shape }),
  );
}

export const kindWord = (kind) => WORDS[kind] ?? String(kind ?? "record").replaceAll("_", " ");

const FORMS = Object.entries(IDS)
  .filter(([kind]) => !["workspace", "agent", "entry", "block"].includes(kind))
  .map(([kind, form]) => [kind, new RegExp(form)]);
const PREFIXES = {
  ...Object.fromEntries(RECORD_KINDS.filter(({ prefix }) => prefix).map(({ prefix, name }) => [prefix, name])),
  EV: "evidence",
};
const STANDING = RECORD_KINDS.filter(({ family }) => family === "standing");
const NUMBERED = new RegExp(`^(${STANDING.map(({ prefix }) => prefix).join("|")}|EV)-\\d+$`);

// The kind of an id by its format; "record" if only the server knows it (cards may have any id).
export function kindOf(id) {
  const name = String(id ?? "");
  const [, letters] = /^([A-Z]+)-\d{8}-\d+/.exec(name) ?? NUMBERED.exec(name) ?? [];
  if (letters && PREFIXES[letters]) return PREFIXES[letters];
  const formed = FORMS.find(([, form]) => /** @type {RegExp} */ (form).test(name));
  if (formed) return String(formed[0]);
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:/.test(name)
    ? "thought"
    : /^[a-z][\w-]*@\d+$/.test(name)
      ? "note"
      : "record";
}
