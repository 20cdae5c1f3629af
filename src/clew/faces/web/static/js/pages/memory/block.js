// One block: what it says now, where it came from, and every version with what changed.

import { call } from "../../api.js";
import { ago, copyButton, el } from "../../dom.js";
import { act, badge, card, chip, diffView, idLink, several, title } from "../../parts.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";

const ORIGINS = {
  apply: "approved proposal",
  edit: "edited by hand in the file",
  contradictions: "found by Clew",
  capture: "captured from a conversation",
  propose: "proposed",
  rollback: "rolled back",
  review: "decided in review",
  scan: "found by a scan",
  share: "shared by an agent",
};

export async function blockParts(id) {
  const block = await call("block_history", { block_id: id, limit: 50, max_chars: 400_000 });
  title(block.block_id, "Memory");
  return [
    el("p", { data: { key: "back" } }, el("a", { href: link("memory", "blocks") }, "← all blocks")),
    el(
      "div",
      { class: "split", data: { key: "block" } },
      el("div", { class: "stack" }, now(block), history(block)),
      provenance(block),
    ),
  ];
}

function now(block) {
  return el(
    "article",
    { class: "card", id: "block" },
    el(
      "header",
      {},
      chip(block.kind, block.kind),
      badge(block.status, block.status === "active" ? "good" : "warn"),
      el("span", { class: "id" }, block.block_id),
      el("span", { class: "end" }, copyButton(block.text, "copy text")),
    ),
    el("h2", {}, block.says || block.block_id),
    block.review_due
      ? el("p", {}, badge(`was to be reviewed by ${block.review_by}`, "warn"))
      : null,
    fields(block),
  );
}

function fields({ fields: known, block_id }) {
  const shown = Object.entries(known ?? {}).filter(
    ([, value]) => String(value ?? "").trim() && !["none", "untagged"].includes(String(value)),
  );
  return el(
    "dl",
    { class: "facts" },
    shown.flatMap(([name, value]) => [
      el("dt", {}, name),
      el(
        "dd",
        {},
        Array.isArray(value)
          ? el(
              "ul",
              { class: "plain" },
              value.map((item) => el("li", {}, named(item, block_id))),
            )
          : named(value, block_id),
      ),
    ]),
  );
}

// An id of another block becomes a link.
function named(value, own) {
  const text = String(value);
  return /^[A-Z]{1,8}-\d{8}-\d{3,}$/.test(text) && text !== own ? idLink(text) : text;
}

function provenance(block) {
  const last = block.versions[0],
    first = block.versions.at(-1);
  const fact = (name, value) => (value ? [el("dt", {}, name), el("dd", {}, value)] : []);
  return el(
    "aside",
    { class: "card lens", id: "provenance" },
    el("h2", {}, "Where it comes from"),
    el(
      "dl",
      { class: "facts" },
      fact("File", block.line ? `${block.file}:${block.line}` : block.file),
      fact("Since", ago(first.ts_ms)),
      fact("Changed", ago(last.ts_ms)),
      fact("By", last.agent),
      fact("Way", ORIGINS[last.origin] ?? last.origin),
      fact("Proposal", last.cause ? idLink(last.cause) : null),
      fact("Receipt", last.receipt_ts),
      fact("Source", sources(block)),
    ),
  );
}

function sources({ fields: known }) {
  const given = [known?.Sources ?? []].flat();
  return given.length ? given.flatMap((item, index) => [index ? ", " : "", named(item)]) : null;
}

function history(block) {
  return card(
    "History",
    { id: "history", count: several(block.versions_total, "version") },
    el(
      "ol",
      { class: "plain" },
      block.versions.map((version) => versionRow(block, version)),
    ),
    block.versions_total > block.versions.length
      ? el(
          "p",
          { class: "quiet" },
          `The ${block.versions_total - block.versions.length} oldest are left out.`,
        )
      : null,
  );
}

function versionRow(block, version) {
  const back = (event) =>
    act(
      event.target,
      () => call("rollback_proposal", { receipt_ts: version.receipt_ts }),
      "Rolled back",
    );
  const newest = version === block.versions[0];
  return el(
    "li",
    { class: "version", data: { version: version.version } },
    el(
      "p",
      { class: "row" },
      el("strong", {}, `Version ${version.version}`),
      badge(version.removed ? "removed" : version.status, version.removed ? "bad" : ""),
      version.rolled_back ? badge("rolled back", "warn") : null,
      el(
        "span",
        { class: "quiet" },
        ORIGINS[version.origin] ?? version.origin,
        version.cause ? [" ", idLink(version.cause)] : "",
        version.agent ? ` by ${version.agent}` : "",
        " · ",
        ago(version.ts_ms),
      ),
      newest && version.receipt_ts && !version.rolled_back && version.origin === "apply"
        ? el(
            "button",
            { type: "button", class: "small", data: { act: "rollback" }, onclick: back },
            "Roll back",
          )
        : null,
    ),
    version.diff
      ? fold(
          `version ${block.block_id} ${version.version}`,
          version.version === 1
            ? "What was written"
            : `What changed against version ${version.version - 1}`,
          diffView(version.diff),
        )
      : null,
  );
}
