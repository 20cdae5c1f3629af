// One record as a person reads it, in one layout for every kind: what it says, who wrote it and
// when, where it came from, what can be done, what is special to its kind, links both ways,
// versions.

import { call } from "../api.js";
import { ago, el, shorten } from "../dom.js";
import { describe } from "../happenings.js";
import { icon, kindWord } from "../kinds.js";
import { keepDrawn } from "../news.js";
import { badge, diffView, idTag, prose, recordLink, statusBadge, title } from "../parts.js";
import { byWords } from "../people.js";
import { fold, redraw } from "../redraw.js";
import { link, objectLink } from "../router.js";
import { actionBar } from "./actions.js";
import { bodyOf } from "./bodies.js";
import { factsOf } from "./facts.js";

const PAUSE = 400;

// Draws the record into `body` and keeps it true while others write. Returns the call that ends it.
export async function followRecord(body, id, level = "h2") {
  let known = new Set([id]);
  const draw = async () => {
    const view = await call("record_view", { id, max_chars: 400_000 });
    known = new Set([id, view.id, ...view.chain.map((part) => part.id)]);
    const own = await bodyOf(view);
    redraw(body, recordParts(view, own, level));
    title(shorten(view.title, 60), kindWord(view.kind));
  };
  return keepDrawn(draw, (event) => known.has(event.subject) || concerns(event, known), PAUSE);
}

// Changes of a step name its task, those of a proposal the block that it made.
const concerns = (event, known) =>
  [event.payload?.task, event.payload?.target, event.payload?.proposal_id].some((id) =>
    known.has(id),
  );

export function recordParts(view, own, level = "h2") {
  return [
    el(
      "header",
      { class: "record-head", data: { key: "head" } },
      el(
        "p",
        { class: "row quiet" },
        el("span", { class: "kind" }, icon(view.kind === "card" ? view.type : view.kind)),
        view.kind === "card" && view.type ? `${view.type} card` : kindWord(view.kind),
        statusBadge(view.status),
        el("span", { class: "end" }, idTag(view.id)),
      ),
      el(level, { class: "record-title", dir: "auto" }, view.title),
      byLine(view),
    ),
    warnings(view),
    el("div", { class: "actions", data: { key: "actions" } }, actionBar(view), aroundLink(view)),
    view.text && view.text.trim() !== view.title
      ? el("div", { data: { key: "text" } }, prose(view.text))
      : null,
    view.why ? part("Why", prose(view.why)) : null,
    chainLine(view.chain),
    factsOf(view),
    own,
    linksPart(view),
    versionsPart(view),
    eventsPart(view.events),
  ];
}

// What surrounds it, as a graph; in a place of its own, for it needs the room.
const aroundLink = ({ id }) =>
  el(
    "a",
    { class: "button", href: link("know", "around", id), data: { act: "around", key: "around" } },
    "Around it",
  );

export const part = (words, ...children) =>
  el("section", { class: "part", data: { key: words } }, el("h3", {}, words), children);

function byLine(view) {
  const when = view.created_ms ?? view.changed_ms;
  return el(
    "p",
    { class: "quiet" },
    view.author ? ["by ", el("strong", {}, byWords(view.author)), " · "] : "",
    when ? ago(when) : "",
    view.created_ms && view.changed_ms && view.changed_ms - view.created_ms > 1000
      ? [" · changed ", ago(view.changed_ms)]
      : "",
  );
}

function warnings(view) {
  const { retraction: ended, fallen_premises: fallen, shown } = view;
  const doubt = shown?.suspect;
  if (!ended && !fallen.length && !doubt) return null;
  return el(
    "div",
    { class: "warns stack tight", role: "note", data: { key: "warnings" } },
    ended && !ended.lifted
      ? el(
          "p",
          {},
          badge(ended.status, "bad"),
          ` ${ended.why} `,
          el("span", { class: "quiet" }, `(${byWords(ended.by)})`),
          ended.replaced_by
            ? [" Instead: ", el("a", { href: objectLink(ended.replaced_by) }, ended.replaced_by)]
            : "",
        )
      : null,
    fallen.map(({ id, why }) =>
      el(
        "p",
        {},
        badge("in doubt", "warn"),
        " it rests on ",
        el("a", { href: objectLink(id) }, id),
        `, which was taken back: ${why}`,
      ),
    ),
    doubt && !fallen.length
      ? el("p", {}, badge("in doubt", "warn"), ` ${doubt.because ?? "what it rests on has fallen"}`)
      : null,
  );
}

// thought → signal → proposal → decision → task → proof, as one line.
function chainLine(chain) {
  if (!chain.length) return null;
  return el(
    "nav",
    { class: "part chain", "aria-label": "Where it comes from", data: { key: "chain" } },
    el("h3", {}, "Where it comes from"),
    el(
      "ol",
      {},
      chain.map((item) =>
        el(
          "li",
          { class: item.here ? "here" : "", data: { key: item.id } },
          item.here
            ? el("strong", { "aria-current": "true" }, icon(item.kind), kindWord(item.kind))
            : el(
                "a",
                { href: objectLink(item.id), title: item.title },
                icon(item.kind),
                kindWord(item.kind),
                el("span", { class: "quiet" }, ` ${shorten(item.title, 34)}`),
              ),
        ),
      ),
    ),
  );
}

const TOWARDS = {
  part_of: "belongs to",
  rests_on: "rests on",
  derives: "follows from",
  supports: "supports",
  proves: "proves",
  about: "is about",
  answers: "answers",
  replaces: "replaces",
  supersedes: "replaces",
  superseded_by: "replaced by",
  blocks: "blocks",
  depends_on: "depends on",
  contradicts: "contradicts",
  mentions: "mentions",
  refers: "refers to",
  revises: "revises",
  repeats: "repeats",
};
const BACK = {
  part_of: "parts",
  rests_on: "what rests on it",
  derives: "what follows from it",
  supports: "supported by",
  proves: "proven by",
  about: "about it",
  answers: "answered by",
  replaces: "replaced by",
  supersedes: "replaced by",
  superseded_by: "replaces",
  blocks: "blocked by",
  depends_on: "needed by",
  contradicts: "contradicted by",
  mentions: "mentioned by",
  refers: "referred to by",
  revises: "revised by",
  repeats: "repeated by",
};
const words = (table, rel) => table[rel] ?? rel.replaceAll("_", " ");

// Steps of a task and tasks of a plan stand above already, with more about each.
const PARTS_SHOWN = ["task", "plan", "session"];

function linksPart({ kind, incoming: all, outgoing, more_links: more }) {
  const incoming = PARTS_SHOWN.includes(kind) ? all.filter(({ rel }) => rel !== "part_of") : all;
  if (!incoming.length && !outgoing.length) return null;
  const groups = grouped([
    ...outgoing.map((item) => ({ item, name: words(TOWARDS, item.rel) })),
    ...incoming.map((item) => ({ item, name: words(BACK, item.rel) })),
  ]);
  return part(
    "Links",
    el(
      "dl",
      { class: "links" },
      groups.map(([name, links]) =>
        el(
          "div",
          { data: { key: name } },
          el("dt", {}, name),
          el(
            "dd",
            {},
            el(
              "ul",
              { class: "plain" },
              links.map((item) =>
                el("li", { data: { key: item.id } }, recordLink(item), statusBadge(item.status)),
              ),
            ),
          ),
        ),
      ),
    ),
    more ? el("p", { class: "quiet" }, "More links are left out.") : null,
  );
}

// Two records may say the same of each other, each in its own field: then it stands there once.
function grouped(links) {
  const groups = new Map();
  for (const { item, name } of links) {
    const known = groups.get(name) ?? [];
    if (!known.some(({ id }) => id === item.id)) groups.set(name, [...known, item]);
  }
  return [...groups.entries()];
}

const ORIGINS = {
  apply: "approved",
  edit: "edited by hand in the file",
  contradictions: "found by Clew",
  capture: "captured from a conversation",
  propose: "proposed",
  rollback: "rolled back",
  review: "decided in review",
  scan: "found by a scan",
  share: "shared by an agent",
  remember: "remembered",
};

function versionsPart({ versions, versions_total: total, id }) {
  if (versions.length < 2) return null;
  return part(
    `Versions ${total ?? versions.length}`,
    el(
      "ol",
      { class: "plain" },
      versions.map((version, index) =>
        el(
          "li",
          { data: { key: version.seq, version: (total ?? versions.length) - index } },
          el(
            "p",
            { class: "row" },
            el("strong", {}, `${(total ?? versions.length) - index}`),
            el("span", {}, ORIGINS[version.origin] ?? version.origin),
            el("span", { class: "quiet" }, "by ", byWords(version.agent), " · ", ago(version.ts)),
            version.cause && version.cause !== id
              ? el("a", { class: "id", href: objectLink(version.cause) }, version.cause)
              : null,
          ),
          version.diff
            ? fold(`version ${id} ${version.seq}`, "What changed", diffView(version.diff))
            : null,
        ),
      ),
    ),
    total > versions.length
      ? el("p", { class: "quiet" }, `The ${total - versions.length} oldest are left out.`)
      : null,
  );
}

function eventsPart(events) {
  if (!events.length) return null;
  return el(
    "section",
    { class: "part", data: { key: "events" } },
    fold(
      "events",
      `What happened to it (${events.length})`,
      el(
        "ol",
        { class: "lines" },
        events.map((event) =>
          el(
            "li",
            {},
            el(
              "span",
              { class: "what" },
              describe({ type: event.event, subject: "" }, new Map()).said,
            ),
            el("span", { class: "when" }, byWords(event.by)),
            ago(event.ts),
          ),
        ),
      ),
    ),
  );
}
