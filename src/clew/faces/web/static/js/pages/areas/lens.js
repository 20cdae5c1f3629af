// What is known about one area: what it is, the tasks that touched it, the records that belong to it.

import { call } from "../../api.js";
import { el, shorten } from "../../dom.js";
import { icon } from "../../kinds.js";
import {
  badge,
  callText,
  command,
  explain,
  idTag,
  nothing,
  recordLink,
  several,
  statusBadge,
} from "../../parts.js";
import { link, objectLink } from "../../router.js";

const MOST = 12;

// `titles` knows the areas by id.
export async function lensParts(id, back, titles) {
  const close = el("a", { class: "button", id: "all-areas", href: back }, "All areas");
  try {
    const [known, records] = await Promise.all([
      call("anchor_snapshot", { anchor: id, limit: 1, include_drafts: true }),
      call("record_list", { area: id, limit: MOST, max_chars: 60_000 }),
    ]);
    return drawn(known, records, close, titles);
  } catch (problem) {
    return [el("p", {}, close), explain(problem)];
  }
}

function drawn({ anchor, tasks }, records, close, titles) {
  return [
    el(
      "header",
      { class: "row quiet" },
      el("span", { class: "kind" }, icon("anchor")),
      anchor.kind,
      anchor.status === "active" ? null : badge(anchor.status, "warn"),
      el("span", { class: "end row" }, idTag(anchor.id), close),
    ),
    el("h2", {}, anchor.title),
    anchor.description ? el("p", {}, anchor.description) : null,
    el(
      "p",
      { class: "row" },
      el(
        "a",
        { class: "button", id: "area-records", href: link("know", "lists", { area: anchor.id }) },
        records.total ? `Show all ${several(records.total, "record")}` : "Show its records",
      ),
      el("a", { class: "button", href: objectLink(anchor.id) }, "Open"),
      el("a", { class: "button", href: link("know", "around", anchor.id) }, "Around it"),
    ),
    list(
      "Contains or rests on",
      [anchor.parent_id, ...anchor.depends_on]
        .filter(Boolean)
        .map((other) =>
          el(
            "li",
            {},
            el("span", { class: "quiet" }, other === anchor.parent_id ? "part of " : "rests on "),
            el("a", { href: objectLink(other) }, titles.get(other) ?? other),
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
              recordLink(
                { id: task.task, kind: "task", title: shorten(task.title ?? "", 60) },
                statusBadge(task.status),
              ),
            ),
          ),
        )
      : nothing("No task has touched it."),
    el("h3", {}, "What is known"),
    records.records.length
      ? el(
          "ul",
          { class: "plain", data: { key: "records", list: "" } },
          records.records.map((record) =>
            el("li", { data: { key: record.id } }, recordLink(record, statusBadge(record.status))),
          ),
        )
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
    records.total > records.records.length
      ? nothing(`${records.total - records.records.length} older ones are left out here.`)
      : null,
  ];
}

function list(words, items) {
  return items.length
    ? el("div", {}, el("h3", {}, words), el("ul", { class: "plain" }, items))
    : null;
}
