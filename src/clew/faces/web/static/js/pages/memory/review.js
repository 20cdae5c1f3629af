// The review queue: each proposal with the difference it would make; approve, reject, put off, roll
// back.

import { call, envelope } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import {
  act,
  badge,
  callText,
  card,
  chip,
  diffView,
  explain,
  idLink,
  nothing,
  several,
  teach,
} from "../../parts.js";
import { draft, forget } from "../../redraw.js";

const TONES = { applied: "good", rejected: "bad", rolled_back: "warn", deferred: "warn" };
const SHOWN = 40;

export async function reviewParts([wanted]) {
  const [found, governance] = await Promise.all([
    call("list_proposals", { limit: 100 }),
    call("governance"),
  ]);
  const waiting = found.proposals.filter((item) => ["staged", "deferred"].includes(item.status));
  const done = found.proposals.filter((item) => !waiting.includes(item));
  const tried = await Promise.all(waiting.slice(0, SHOWN).map((item) => tryIt(item)));
  return [
    governance.governance_mode === "detect_only"
      ? el(
          "p",
          { class: "problem", data: { key: "mode" } },
          "Mode detect_only: nothing is applied. The operation governance changes that.",
        )
      : null,
    waiting.length
      ? el(
          "div",
          { class: "stack", data: { key: "waiting", list: "" } },
          waiting
            .slice(0, SHOWN)
            .map((item, index) => proposalCard(item, tried[index], item.proposal_id === wanted)),
        )
      : found.total
        ? nothing("Nothing waits for you.", "queue-empty")
        : empty(),
    waiting.length > SHOWN
      ? nothing(
          `${several(waiting.length - SHOWN, "more proposal")} wait; they are shown when these are dealt with.`,
        )
      : null,
    done.length
      ? card(
          "Dealt with",
          { id: "done", count: done.length },
          el(
            "ul",
            { class: "lines", data: { key: "list", list: "" } },
            done.map((item) => doneRow(item)),
          ),
        )
      : null,
  ];
}

// The difference is made by trying the proposal for real and throwing the result away.
async function tryIt(item) {
  if (item.status !== "staged")
    return { problem: { message: `put off until ${item.until}`, recovery: item.reason } };
  try {
    const answer = await envelope("approve_apply", {
      proposal_id: item.proposal_id,
      dry_run: true,
    });
    return { diff: answer.result.diff, warnings: answer.warnings };
  } catch (problem) {
    return { problem };
  }
}

function proposalCard(item, tried, wanted) {
  const id = item.proposal_id,
    key = `reason ${id}`;
  const reason = draft("input", key, {
    placeholder: "Reason (needed to reject or put off)",
    "aria-label": `Reason for ${id}`,
    maxlength: 500,
    class: "grow",
  });
  const button = (name, words, kind, run) =>
    el("button", { type: "button", class: kind, data: { act: name }, onclick: run }, words);
  const needReason = (run, said) => async (event) => {
    if (!reason.value.trim()) return say(reason);
    if (await act(event.target, () => run(reason.value), said)) forget(key);
  };
  return el(
    "article",
    { class: `card proposal${wanted ? " wanted" : ""}`, data: { key: id, proposal: id } },
    el(
      "header",
      {},
      el("h2", {}, shorten(item.says, 200)),
      chip(item.type, item.type),
      item.status === "deferred" ? badge("put off", "warn") : null,
    ),
    el(
      "p",
      { class: "quiet" },
      el("span", { class: "id" }, id),
      " → ",
      item.target ? idLink(item.target) : "",
      ` · risk ${item.risk} · `,
      ago(item.created),
    ),
    tried.diff
      ? diffView(tried.diff)
      : el("div", { class: "stack tight quiet" }, explain(tried.problem)),
    (tried.warnings ?? []).map((warning) =>
      el("p", {}, badge("careful", "warn"), " ", warning.message),
    ),
    el(
      "div",
      { class: "row" },
      button("approve", "Approve", "primary", (event) =>
        act(
          event.target,
          () => call("approve_apply", { proposal_id: id, dry_run: false }),
          "Approved and written",
        ),
      ),
      reason,
      button(
        "reject",
        "Reject",
        "",
        needReason((why) => call("reject_proposal", { proposal_id: id, reason: why }), "Rejected"),
      ),
      button(
        "defer",
        "Put off",
        "",
        needReason((why) => call("defer_proposal", { proposal_id: id, reason: why }), "Put off"),
      ),
    ),
  );
}

// Says it where it is missing, and where the eye is.
function say(input) {
  input.setCustomValidity("Say why: the reason is kept with the proposal.");
  input.reportValidity();
  input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
  input.focus();
}

function doneRow(item) {
  const back = (event) =>
    act(
      event.target,
      () => call("rollback_proposal", { receipt_ts: item.receipt_ts }),
      "Rolled back",
    );
  return el(
    "li",
    { data: { key: item.proposal_id, done: item.proposal_id } },
    badge(item.status.replace("_", " "), TONES[item.status]),
    el(
      "span",
      { class: "what" },
      shorten(item.says, 160),
      item.reason ? el("span", { class: "quiet" }, ` — ${item.reason}`) : null,
    ),
    item.target ? idLink(item.target) : el("span", { class: "id" }, item.proposal_id),
    ago(item.created),
    item.receipt_ts && item.status === "applied"
      ? el(
          "button",
          { type: "button", class: "small", data: { act: "rollback" }, onclick: back },
          "Roll back",
        )
      : null,
  );
}

function empty() {
  return teach(
    "No proposal yet",
    "An agent never writes into memory directly. It proposes, and the proposal waits here with the difference it would make. Try it:",
    callText("propose_update", {
      block_type: "decision",
      statement: "Prices are integers in cents",
      rationale: "Rounding cost us money",
    }),
  );
}
