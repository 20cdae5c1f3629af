// What is known about one area: its record, the tasks that touched it, the cards that hang on it.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { badge, callText, chip, command, explain, idLink, nothing } from "../../parts.js";
import { link, objectLink } from "../../router.js";

export async function lensParts(id) {
  try {
    return drawn(await call("anchor_snapshot", { anchor: id, limit: 30, include_drafts: true }));
  } catch (problem) {
    return explain(problem);
  }
}

function drawn({ anchor, cards, tasks, stats }) {
  return [
    el(
      "header",
      {},
      badge(anchor.kind, "info"),
      anchor.status === "active" ? null : badge(anchor.status, "warn"),
      el("span", { class: "id" }, anchor.id),
    ),
    el("h2", {}, anchor.title),
    anchor.description ? el("p", {}, anchor.description) : null,
    list(
      "Contains or rests on",
      [anchor.parent_id, ...anchor.depends_on]
        .filter(Boolean)
        .map((other) =>
          el(
            "li",
            {},
            el("span", { class: "quiet" }, other === anchor.parent_id ? "part of " : "rests on "),
            idLink(other),
          ),
        ),
    ),
    list(
      "Where",
      anchor.refs.map((ref) => el("li", {}, el("code", {}, ref))),
    ),
    list(
      "Also called",
      anchor.aliases.map((alias) => el("li", {}, el("span", { class: "id" }, alias))),
    ),
    el("h3", {}, "Tasks"),
    tasks?.length
      ? el(
          "ul",
          { class: "plain" },
          tasks.map((task) =>
            el(
              "li",
              {},
              el(
                "a",
                { href: link("now", "board", task.task) },
                `${task.task} ${shorten(task.title ?? "", 60)}`,
              ),
              " ",
              badge((task.status ?? "").toLowerCase()),
            ),
          ),
        )
      : nothing("No task has touched it."),
    el("h3", {}, "Cards"),
    cards.length
      ? el("ul", { class: "plain" }, cards.map(cardRow))
      : [
          nothing("Nothing is known about it yet."),
          command(
            callText("macro_anchor_note", {
              anchor: anchor.id,
              content: "What holds here, what is risky",
              visibility: "canon",
            }),
          ),
        ],
    stats?.links_has_more ? nothing("More are left out.") : null,
  ];
}

function list(words, items) {
  return items.length
    ? el("div", {}, el("h3", {}, words), el("ul", { class: "plain" }, items))
    : null;
}

function cardRow(card) {
  return el(
    "li",
    {},
    chip(card.type, `card-${card.type}`),
    " ",
    el("a", { href: objectLink(card.id) }, shorten(card.title || card.text || card.id, 120)),
    " ",
    card.tags?.includes("v:draft") ? badge("draft") : null,
    " ",
    card.last_ts_ms ? el("span", { class: "quiet" }, ago(card.last_ts_ms)) : null,
  );
}
