// What a scan of the whole memory finds, and what the search index holds.

import { call, tryCall } from "../../api.js";
import { el } from "../../dom.js";
import { badge, card, idLink, nothing } from "../../parts.js";

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

export async function healthParts() {
  const [scan, index] = await Promise.all([call("scan"), tryCall("index_stats")]);
  const { checks, findings, findings_total: total } = scan;
  return [
    el(
      "div",
      { class: "figures-row", data: { key: "figures" } },
      figure(checks.decisions?.active ?? 0, "decisions hold"),
      figure(checks.staged_proposals, "proposals wait"),
      figure(checks.pending_signals, "signals wait"),
      figure(checks.contradictions, "contradictions"),
      figure(checks.overdue_reviews, "reviews overdue"),
      figure(checks.drift_items, "drift"),
    ),
    card(
      "Findings",
      { id: "findings", count: total },
      total
        ? el("ul", { class: "lines", data: { key: "list" } }, findings.map(row))
        : nothing("Nothing to mend."),
      total > findings.length ? nothing(`${total - findings.length} more are left out.`) : null,
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
    el(
      "p",
      { class: "quiet", data: { key: "mode" } },
      `Governance: ${checks.governance_mode}. Files: ${scan.workspace}`,
    ),
  ];
}

function figure(value, words) {
  return el(
    "div",
    { class: "figure" },
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
