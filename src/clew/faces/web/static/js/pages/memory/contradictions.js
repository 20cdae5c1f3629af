// Decisions that cannot both hold, side by side, with the ways out. Each way is a proposal that is
// approved at once, so it leaves a receipt and can be rolled back.

import { call, tryCall } from "../../api.js";
import { ago, el } from "../../dom.js";
import { act, badge, idLink, nothing, sentence, teach } from "../../parts.js";

const ADVICE = {
  supersede: (pair) => `Advice: keep ${pair.winner_id}, ${pair.rationale}.`,
  merge: (pair) => `Advice: ${pair.rationale}. Give both a scope of their own, or keep one.`,
  manual: (pair) => `No advice: ${pair.rationale}.`,
};

const MOST = 60;

export async function contradictionParts() {
  const found = await call("list_contradictions");
  const pairs = found.resolutions ?? [];
  if (!pairs.length)
    return [
      teach(
        "No contradictions",
        "Decisions that deny each other, or set the same thing to different values, appear here as pairs as soon as the second one is approved. Recall then shows both, and says so.",
      ),
    ];
  const ids = [...new Set(pairs.flatMap((pair) => [pair.block_a, pair.block_b]))].slice(0, MOST);
  const asked = await Promise.all(
    ids.map((id) => tryCall("block_history", { block_id: id, limit: 1, max_chars: 60_000 })),
  );
  const blocks = new Map(ids.map((id, index) => [id, asked[index]]));
  return [
    el(
      "div",
      { class: "stack", data: { key: "pairs", list: "" } },
      pairs.map((pair) => pairCard(pair, blocks)),
    ),
    nothing(
      "Keeping one marks the other superseded; its history stays, and the step can be rolled back under Review.",
    ),
  ];
}

function pairCard(pair, blocks) {
  const advised = pair.strategy === "supersede" ? pair.winner_id : null;
  return el(
    "article",
    { class: "card pair", data: { key: pair.contradiction_id, pair: pair.contradiction_id } },
    el(
      "header",
      {},
      el("h2", {}, sentence(pair.reason || "they contradict")),
      badge(`${pair.severity} severity`, pair.severity === "high" ? "bad" : "warn"),
      el("span", { class: "quiet" }, `${Math.round(pair.detected_confidence * 100)} % sure`),
      el("span", { class: "id end" }, pair.contradiction_id),
    ),
    el(
      "div",
      { class: "columns" },
      side(pair, "a", advised, blocks),
      side(pair, "b", advised, blocks),
    ),
    el("p", { class: "quiet" }, (ADVICE[pair.strategy] ?? ADVICE.manual)(pair)),
    el(
      "div",
      { class: "row" },
      way("Neither holds", "revoke", () =>
        settle(
          pair,
          [status(pair.block_a, "revoked"), status(pair.block_b, "revoked")],
          "Neither holds",
        ),
      ),
      way("Leave it for now", "defer", () =>
        settle(pair, [status(pair.contradiction_id, "deferred")], "Left for now"),
      ),
    ),
  );
}

function side(pair, letter, advised, blocks) {
  const id = pair[`block_${letter}`],
    other = pair[letter === "a" ? "block_b" : "block_a"];
  const keep = () => settle(pair, [status(other, "superseded")], `Keep ${id}`);
  return el(
    "section",
    { class: "side-by-side", data: { side: id } },
    el("p", { class: "row" }, idLink(id), advised === id ? badge("advised", "good") : null),
    el("p", { class: "said" }, pair[`statement_${letter}`] || "(it cannot be found)"),
    grounds(blocks.get(id)),
    el("div", {}, way("Keep this one", "keep", keep, advised === id ? "primary" : "", id)),
  );
}

function grounds(block) {
  if (!block) return null;
  const last = block.versions?.[0],
    why = block.fields?.Rationale;
  return el(
    "p",
    { class: "quiet" },
    why && why !== "none" ? `${why} · ` : "",
    last?.agent ? `${last.agent} · ` : "",
    last ? ago(last.ts_ms) : "",
  );
}

function way(words, name, run, kind = "", id = "") {
  return el(
    "button",
    {
      type: "button",
      class: kind,
      data: { way: name, keep: id },
      onclick: (event) => act(event.target, run, "Settled"),
    },
    words,
  );
}

const status = (target, value) => ({
  op: "set_status",
  target,
  status: value,
  history: "settled on the page",
});

async function settle(pair, ops, words) {
  const proposed = await call("propose_edit", {
    ops,
    rationale: `${words}: ${pair.contradiction_id}, ${pair.reason || "they contradict"}`,
  });
  if (!proposed.auto_applied)
    await call("approve_apply", { proposal_id: proposed.proposal_id, dry_run: false });
}
