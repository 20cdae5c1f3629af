// What changed since the reader last looked, grouped by what it means; bounded, and what is left
// out is said.

import { ago, el, shorten } from "../../dom.js";
import { grouped, olderWords } from "../../happenings.js";
import { card, nothing } from "../../parts.js";

const LINES = 6;

export function changesCard({ changes, names }, since, seen) {
  const { groups, other } = grouped(changes.events, names, LINES);
  const fresh = changes.events.length > 0;
  const words = since.first ? "What happened so far" : "Since you last looked";
  return card(
    words,
    {
      id: "changes",
      key: "changes",
      tools: fresh
        ? el(
            "button",
            { type: "button", class: "small", id: "seen", onclick: seen },
            "I have seen this",
          )
        : null,
    },
    since.at && !since.first
      ? el("p", { class: "quiet" }, "You were last here ", ago(since.at), ".")
      : null,
    fresh ? el("div", { class: "groups" }, groups.map(groupPart)) : nothing("Nothing has changed."),
    leftOut(changes, other),
  );
}

function groupPart({ name, words, lines, more }) {
  return el(
    "section",
    { data: { group: name } },
    el("h3", {}, words),
    el("ul", { class: "lines" }, lines.map(row)),
    more ? nothing(`and ${more} more`) : null,
  );
}

function row(line) {
  const text = shorten(line.text || line.subject, 90);
  return el(
    "li",
    {},
    el("span", { class: "when" }, line.count > 1 ? `${line.said} × ${line.count}` : line.said),
    el("span", { class: "what" }, line.href ? el("a", { href: line.href }, text) : text),
  );
}

function leftOut(changes, other) {
  const rest = [...other.entries()].sort((a, b) => b[1] - a[1]);
  const small = rest.length
    ? `Not listed: ${rest
        .slice(0, 8)
        .map(([said, count]) => (count > 1 ? `${said} × ${count}` : said))
        .join(", ")}${rest.length > 8 ? " and more" : ""}.`
    : "";
  const older = olderWords(changes.left_out);
  return small || older
    ? el("p", { class: "quiet", id: "left-out" }, [small, older].filter(Boolean).join(" "))
    : null;
}
