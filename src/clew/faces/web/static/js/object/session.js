// The part of the panel for reasoning: a link to the graph, and the newest thoughts.

import { el, shorten } from "../dom.js";
import { THOUGHT_KINDS } from "../facts.js";
import { link, objectLink } from "../router.js";

export function sessionBody({ id, shown }) {
  return el(
    "section.part",
    { key: "thoughts" },
    el("p", el("a.button", { href: link("now", "session", id) }, "Open the reasoning")),
    el("h3", "Newest thoughts"),
    el(
      "ol.plain",
      (shown.thoughts ?? [])
        .slice(-8)
        .map((thought) =>
          el(
            "li",
            el("span.quiet", `${THOUGHT_KINDS[thought.type] ?? "thought"} `),
            el("a", { href: objectLink(nodeId(id, thought)) }, shorten(plainText(thought.thought), 140)),
          ),
        ),
    ),
  );
}

export function thoughtBody({ id, shown }) {
  return el(
    "p",
    { key: "see" },
    el("a.button", { href: link("now", "session", shown.session.id, id) }, "Show it in its reasoning"),
  );
}

const nodeId = (session, { thoughtNumber, branchId }) =>
  branchId ? `${session}:${branchId}:${thoughtNumber}` : `${session}:${thoughtNumber}`;

// A thought without its notation `S3|E|[S2]|`.
export const plainText = (text) => String(text).replace(/^S\d+\|[A-Z]?\|(?:[^|\n]{0,200}\|)?\s*/, "");
