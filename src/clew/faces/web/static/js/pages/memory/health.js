// The health of the memory: pending items, findings of a scan, contents of the search index.

import { call, tryCall } from "../../api.js";
import { el, shorten } from "../../dom.js";
import { STATUS } from "../../facts.js";
import { act, badge, card, nothing, several } from "../../parts.js";
import { link, objectLink } from "../../router.js";

const CHECKS = {
  review_overdue: "review overdue",
  contradiction: "contradiction",
  drift: "drift",
  unreadable: "unreadable",
  duplicate_ids: "id used twice",
  rejected_value: "was rejected",
  kernel: "kernel",
  state: "state",
  code_moved: "code moved",
};

// Viewing must not write: the content is read from lists; a scan, which may propose changes, is
// only run by the button, and its findings stay until the page is left.
let scanned = null;
/** @type {Map<string, any>} */
let names = new Map();

const ID = /\b(?:[A-Z]{1,5}-\d{8}-\d{3,}|[A-Z]{1,4}-\d+)\b/g;

// The records that the findings name by ids, with titles.
async function namesIn(findings) {
  const ids = [...new Set(findings.flatMap(({ message }) => message.match(ID) ?? []))].slice(0, 200);
  const found = ids.length ? await tryCall("record_names", { ids }) : null;
  return new Map((found?.names ?? []).map((record) => [record.id, record]));
}

// A message with each id replaced by the title of its record.
function inWords(message) {
  const parts = [];
  let at = 0;
  for (const match of message.matchAll(ID)) {
    const known = names.get(match[0]);
    const title = known && known.title !== known.id ? `“${shorten(known.title, 90)}”` : match[0];
    parts.push(message.slice(at, match.index), el("a", { href: objectLink(match[0]) }, title));
    at = match.index + match[0].length;
  }
  return [...parts, message.slice(at)];
}

export async function healthParts(again) {
  const [waiting, decisions, index] = await Promise.all([
    tryCall("inbox_list", { limit: 1 }),
    tryCall("list_blocks", { kind: "decision", status: STATUS.ACTIVE, limit: 1 }),
    tryCall("index_stats"),
  ]);
  const counts = waiting?.counts ?? {};
  const look = (event) =>
    act(
      event.currentTarget,
      async () => {
        scanned = await call("scan");
        names = await namesIn(scanned.findings);
        await again();
      },
      "Scanned",
      null,
    );
  return [
    el(
      "div.figures-row",
      { key: "figures" },
      figure(decisions?.total ?? 0, "decisions hold", link("know", "lists", { kind: "decision" })),
      figure(counts.proposal, "proposals wait", link("inbox", { kind: "proposal" })),
      figure(counts.signal, "signals wait", link("inbox", { kind: "signal" })),
      figure(counts.contradiction, "contradictions", link("inbox", { kind: "contradiction" })),
      figure(counts.review, "reviews overdue", link("inbox", { kind: "review" })),
      figure(counts.proof, "not proven", link("inbox", { kind: "proof" })),
    ),
    card(
      "Findings",
      { id: "findings", count: scanned?.findings_total },
      scanned
        ? findingsPart(scanned)
        : nothing("Contradictions, drift, unreadable parts and moved code are found by a scan."),
      el("div", el("button#scan", { onclick: look }, "Scan now")),
    ),
    index
      ? card(
          "Search index",
          { id: "index" },
          el(
            "dl.facts",
            facts(index).flatMap(([name, value]) => [el("dt", name), el("dd", value)]),
          ),
        )
      : null,
  ];
}

// Findings of one check together, each as a link to its subject.
function findingsPart({ findings, findings_total: total }) {
  const groups = Map.groupBy(findings, (finding) => finding.check);
  if (!total) return nothing("Nothing to fix.");
  return [
    [...groups.entries()].map(([check, own]) =>
      el(
        "details",
        { open: groups.size === 1 || own.length < 6, key: check },
        el("summary", `${CHECKS[check] ?? check} (${own.length})`),
        el("ul.lines", own.map(row)),
      ),
    ),
    total > findings.length ? nothing(`${total - findings.length} more are left out.`) : null,
  ];
}

function figure(value, words, href) {
  return el("a.figure", { href }, el("b", value ?? 0), el("span.quiet", words));
}

function row(finding) {
  return el(
    "li",
    badge(
      CHECKS[finding.check] ?? finding.check,
      finding.severity === "high" || finding.check === "contradiction" ? "bad" : "warn",
    ),
    el("span.what", inWords(finding.message)),
    finding.file ? el("span.id", `${finding.file}${finding.line ? `:${finding.line}` : ""}`) : null,
  );
}

// Labels for the sources of the index.
const SOURCES = { block: "record", evidence: "proof", doc_entry: "note" };

function facts({ items, items_by_source: by, lag, vectors }) {
  const sources = Object.entries(by ?? {})
    .map(([name, count]) => several(count, SOURCES[name] ?? name))
    .join(", ");
  return [
    ["Items", `${items}${sources ? ` (${sources})` : ""}`],
    ["Waiting to be indexed", lag ?? 0],
    [
      "Meaning",
      vectors?.available
        ? `${vectors.count} vectors of ${vectors.model}, ${vectors.lag} waiting`
        : (vectors?.reason ?? "off"),
    ],
  ];
}
