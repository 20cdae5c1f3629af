// All blocks, by kind, status and words.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, callText, chip, nothing, several, teach } from "../../parts.js";
import { draft, typed } from "../../redraw.js";
import { link } from "../../router.js";

const KINDS = [
  ["knowledge", "all knowledge"],
  ["decision", "decisions"],
  ["task", "tasks"],
  ["project", "projects"],
  ["person", "people"],
  ["tool", "tools"],
  ["incident", "incidents"],
  ["fact", "shared facts"],
  ["signal", "signals"],
  ["contradiction", "contradictions"],
  ["drift", "drift"],
  ["proposal", "proposals"],
  ["any", "everything"],
];
const PAGE = 60;

// What the reader chose stays while the page lives.
const chosen = { kind: "knowledge", status: "", overdue: false };

export async function blocksParts(_rest, again) {
  const search = draft("input", "blocks.words", {
    type: "search",
    id: "blocks-search",
    data: { search: "" },
    placeholder: "Find in blocks ( / )",
    "aria-label": "Find in blocks",
    oninput: () => again(),
    class: "grow",
  });
  const found = await call("list_blocks", {
    kind: chosen.kind,
    status: chosen.status || undefined,
    overdue: chosen.overdue,
    words: typed("blocks.words"),
    limit: PAGE,
    max_chars: 400_000,
  });
  const change = (name) => (event) => {
    chosen[name] = event.target.type === "checkbox" ? event.target.checked : event.target.value;
    again();
  };
  const statuses = [
    ...new Set([
      "",
      ...(chosen.status ? [chosen.status] : []),
      ...Object.keys(found.statuses).filter(Boolean),
    ]),
  ];
  const untouched =
    chosen.kind === "knowledge" && !chosen.status && !chosen.overdue && !typed("blocks.words");
  return [
    el(
      "div",
      { class: "row", data: { key: "filters" } },
      search,
      el(
        "select",
        { id: "blocks-kind", "aria-label": "Kind", onchange: change("kind") },
        KINDS.map(([value, words]) =>
          el("option", { value, selected: value === chosen.kind }, words),
        ),
      ),
      el(
        "select",
        { id: "blocks-status", "aria-label": "Status", onchange: change("status") },
        statuses.map((value) =>
          el("option", { value, selected: value === chosen.status }, value || "any status"),
        ),
      ),
      el(
        "label",
        {},
        el("input", {
          type: "checkbox",
          id: "blocks-overdue",
          checked: chosen.overdue,
          onchange: change("overdue"),
        }),
        "review overdue",
      ),
    ),
    found.total
      ? [
          el(
            "p",
            { class: "quiet", data: { key: "count" } },
            several(found.total, "block"),
            found.total > found.blocks.length
              ? `, the ${found.blocks.length} changed last are shown`
              : "",
          ),
          el(
            "section",
            { class: "card", data: { key: "list", list: "" } },
            el(
              "ul",
              { class: "lines", id: "blocks", data: { key: "blocks", list: "" } },
              found.blocks.map(row),
            ),
          ),
        ]
      : untouched
        ? empty()
        : nothing("No block fits.", "no-blocks"),
  ];
}

function row(block) {
  return el(
    "li",
    { data: { key: block.block_id } },
    chip(block.kind, block.kind),
    el("a", { class: "what", href: link("o", block.block_id) }, shorten(block.says, 140)),
    badge(block.status, { active: "good", superseded: "warn", revoked: "warn" }[block.status]),
    block.review_due ? badge(`review by ${block.review_by}`, "warn") : null,
    el("span", { class: "id" }, block.block_id),
    ago(block.ts_ms),
  );
}

function empty() {
  return teach(
    "Nothing is remembered yet",
    "Decisions, tasks, people and incidents are kept as blocks that anybody can read in Markdown. An agent proposes one, and it waits under Review:",
    callText("propose_update", {
      block_type: "decision",
      statement: "Prices are integers in cents",
      rationale: "Rounding cost us money",
    }),
  );
}
