// How the memory is: what waits, what a scan finds, what the search index holds.

import { call, tryCall } from "../../api.js";
import { el } from "../../dom.js";
import { act, badge, card, idLink, nothing } from "../../parts.js";
import { link } from "../../router.js";

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

// Looking must not write: what is shown is read from lists; a scan, which may propose changes, is
// run by whoever presses the button, and its findings stay until the page is left.
let scanned = null;

export async function healthParts(again) {
  const [waiting, decisions, index] = await Promise.all([
    tryCall("inbox_list", { limit: 1 }),
    tryCall("list_blocks", { kind: "decision", status: "active", limit: 1 }),
    tryCall("index_stats"),
  ]);
  const counts = waiting?.counts ?? {};
  const look = (event) =>
    act(
      event.currentTarget,
      async () => {
        scanned = await call("scan");
        await again();
      },
      "Scanned",
    );
  return [
    el(
      "div",
      { class: "figures-row", data: { key: "figures" } },
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
      el("div", {}, el("button", { type: "button", id: "scan", onclick: look }, "Scan now")),
    ),
    index
      ? card(
          "Search index",
          { id: "index" },
          el(
            "dl",
            { class: "facts" },
            facts(index).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
          ),
        )
      : null,
  ];
}

// Findings of one check together, each as a link to what it is about.
function findingsPart({ findings, findings_total: total }) {
  const groups = Map.groupBy(findings, (finding) => finding.check);
  if (!total) return nothing("Nothing to mend.");
  return [
    [...groups.entries()].map(([check, own]) =>
      el(
        "details",
        { open: groups.size === 1 || own.length < 6, data: { key: check } },
        el("summary", {}, `${CHECKS[check] ?? check} (${own.length})`),
        el("ul", { class: "lines" }, own.map(row)),
      ),
    ),
    total > findings.length ? nothing(`${total - findings.length} more are left out.`) : null,
  ];
}

function figure(value, words, href) {
  return el(
    "a",
    { class: "figure", href },
    el("b", {}, value ?? 0),
    el("span", { class: "quiet" }, words),
  );
}

function row(finding) {
  return el(
    "li",
    {},
    badge(
      CHECKS[finding.check] ?? finding.check,
      finding.severity === "high" || finding.check === "contradiction" ? "bad" : "warn",
    ),
    el("span", { class: "what" }, finding.message),
    finding.block_id ? idLink(finding.block_id) : null,
    finding.file
      ? el("span", { class: "id" }, `${finding.file}${finding.line ? `:${finding.line}` : ""}`)
      : null,
  );
}

function facts({ items, items_by_source: by, lag, vectors }) {
  const sources = Object.entries(by ?? {})
    .map(([name, count]) => `${count} ${name}${count === 1 ? "" : "s"}`)
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
