// One record as a person reads it, in one layout for every kind: text, author and time, origin,
// actions, content specific to its kind, links in both directions, versions.

import { call } from "../api.js";
import { threadPart, threadsOf } from "../comments.js";
import { ago, el, shorten } from "../dom.js";
import { STATUS } from "../facts.js";
import { happened, ORIGINS } from "../happenings.js";
import { icon, kindOf, kindWord } from "../kinds.js";
import { isOver } from "../lifecycle.js";
import { relWords } from "../links.js";
import { markdownButtons, recordMarkdown } from "../markdown.js";
import { keepDrawn } from "../news.js";
import { act, badge, diffView, idTag, prose, recordLink, stateBadges, stateWord, title } from "../parts.js";
import { byWords, isPerson } from "../people.js";
import { fold, redraw } from "../redraw.js";
import { link, objectLink } from "../router.js";
import { undoButton } from "../undo-button.js";
import { actionBar } from "./actions.js";
import { bodyOf } from "./bodies.js";
import { factsOf } from "./facts.js";

const PAUSE = 400;
// A runner's lease expires without an event.
const LEASES = 5_000;
const PENDING = [STATUS.STAGED, STATUS.DEFERRED];

// Draws the record into `body` and updates it while others write. Returns a function that ends it.
export async function followRecord(body, id, level = "h2") {
  let known = new Set([id]);
  const draw = async () => {
    const [view, threads] = await Promise.all([call("record_view", { id, max_chars: 400_000 }), threadsOf(id)]);
    known = new Set([id, view.id, ...view.chain.map((part) => part.id)]);
    const own = await bodyOf(view);
    redraw(body, recordParts({ ...view, threads }, own, level));
    title(shorten(view.title, 60), kindWord(view.kind));
  };
  const end = await keepDrawn(draw, (event) => known.has(event.subject) || concerns(event, known), PAUSE);
  const leases = kindOf(id) === "job" ? setInterval(() => void draw().catch(() => {}), LEASES) : 0;
  return () => {
    clearInterval(leases);
    end();
  };
}

// Changes of a step name its task, those of a proposal the block that it made.
const concerns = (event, known) =>
  [event.payload?.task, event.payload?.target, event.payload?.proposal_id].some((id) => known.has(id));

export function recordParts(view, own, level = "h2") {
  return [
    el(
      "header.record-head",
      { key: "head" },
      el(
        "p.row.quiet",
        el("span.kind", icon(view.kind === "card" ? view.type : view.kind)),
        view.kind === "card" && view.type ? `${view.type} card` : kindWord(view.kind),
        stateBadges({ ...view, disputed_with: [] }),
        el("span.end", idTag(view.id)),
      ),
      el(`${level}.record-title`, { dir: "auto" }, view.title),
      byLine(view),
    ),
    // The parts below have the level that they have in the panel.
    level === "h1" ? el("h2.hidden-text", { key: "below" }, "About it") : null,
    warnings(view),
    el("div.actions", { key: "actions" }, actionBar(view), aroundLink(view)),
    el(
      "div.row",
      { key: "markdown" },
      markdownButtons(view.id, () => recordMarkdown(view)),
    ),
    view.text && view.text.trim() !== view.title ? el("div", { key: "text" }, prose(view.text)) : null,
    view.why ? part("Why", prose(view.why)) : null,
    threadPart(view.threads ?? []),
    chainLine(view.chain),
    factsOf(view),
    own,
    linksPart(view),
    versionsPart(view),
    eventsPart(view.events),
  ];
}

// Its neighbourhood, as a tree; on a separate page, because it needs the room.
const aroundLink = ({ id }) =>
  el("a.button", { href: link("know", "around", id), key: "around", data: { act: "around" } }, "Around it");

export const part = (words, ...children) => el("section.part", { key: words }, el("h3", words), children);

function byLine(view) {
  const when = view.created_ms ?? view.changed_ms;
  return el(
    "p.quiet",
    view.author ? ["by ", el("strong", byWords(view.author)), " · "] : "",
    when ? ago(when) : "",
    view.created_ms && view.changed_ms && view.changed_ms - view.created_ms > 1000
      ? [" · changed ", ago(view.changed_ms)]
      : "",
  );
}

function warnings(view) {
  const { retraction: ended, fallen_premises: fallen, shown } = view;
  const doubt = shown?.suspect;
  const disputed = view.disputed_with;
  const waiting = [view, ...view.incoming].filter(
    ({ kind, status }) => kind === "proposal" && PENDING.includes(status),
  );
  if (![ended, doubt, ...fallen, ...disputed, ...waiting].some(Boolean)) return null;
  return el(
    "div.warns.stack.tight",
    { role: "note", key: "warnings" },
    ended && !ended.lifted
      ? el(
          "p",
          badge(ended.status, "bad"),
          ` ${ended.why} `,
          el("span.quiet", `(${byWords(ended.by)})`),
          ended.replaced_by
            ? [" Instead: ", el("a", { href: objectLink(ended.replaced_by) }, titleOf(view, ended.replaced_by))]
            : "",
        )
      : null,
    disputed.length
      ? el(
          "p#disputed",
          badge("disputed", "bad"),
          " It contradicts ",
          disputed.map(({ id, title: words }, at) => [at ? ", " : "", el("a", { href: objectLink(id) }, `“${words}”`)]),
          ". ",
          el("a.button", { href: link("inbox", view.id) }, "Decide which holds"),
        )
      : null,
    waiting.map(({ id, title: words }) =>
      el(
        "p",
        { key: id, data: { waits: id } },
        badge("waits", "info"),
        id === view.id ? " It waits for a decision. " : ` ${words}. `,
        el("a.button", { href: link("inbox", id) }, "Decide"),
      ),
    ),
    fallen.map(({ id, why }) =>
      el(
        "p",
        badge("in doubt", "warn"),
        " it rests on ",
        el("a", { href: objectLink(id) }, `“${titleOf(view, id)}”`),
        `, which was withdrawn: ${why}`,
      ),
    ),
    doubt && !fallen.length
      ? el("p", badge("in doubt", "warn"), ` ${doubt.because ?? "what it rests on has fallen"}`)
      : null,
  );
}

const titleOf = ({ incoming, outgoing }, id) =>
  [...outgoing, ...incoming].find((other) => other.id === id)?.title ?? id;

// thought → signal → proposal → decision → task → proof, as one line.
function chainLine(chain) {
  if (!chain.length) return null;
  return el(
    "nav.part.chain",
    { "aria-label": "Where it comes from", key: "chain" },
    el("h3", "Where it comes from"),
    el(
      "ol",
      chain.map((item) =>
        el(
          "li",
          { class: item.here ? "here" : "", key: item.id },
          item.here
            ? el("strong", { "aria-current": "true" }, icon(item.kind), kindWord(item.kind))
            : el(
                "a",
                { href: objectLink(item.id), title: item.title },
                icon(item.kind),
                kindWord(item.kind),
                el("span.quiet", ` ${shorten(item.title, 34)}`),
              ),
        ),
      ),
    ),
  );
}

// Steps of a task and tasks of a plan are already shown above, with more details.
const PARTS_SHOWN = ["task", "plan", "session"];

function linksPart({ kind, incoming: all, outgoing, more_links: more }) {
  const incoming = PARTS_SHOWN.includes(kind) ? all.filter(({ rel }) => rel !== "part_of") : all;
  if (!incoming.length && !outgoing.length) return null;
  const groups = grouped([
    ...outgoing.map((item) => ({ item, name: relWords(item.rel) })),
    ...incoming.map((item) => ({ item, name: relWords(item.rel, true) })),
  ]);
  return part(
    "Links",
    el(
      "dl.links",
      groups.map(([name, links]) =>
        el(
          "div",
          { key: name },
          el("dt", name),
          el(
            "dd",
            el(
              "ul.plain",
              links.map((item) => el("li", { key: item.id }, recordLink(item), stateBadges(item))),
            ),
          ),
        ),
      ),
    ),
    more ? el("p.quiet", "More links are left out.") : null,
  );
}

// Two records may state the same link, each in its own field: then it is shown once.
function grouped(links) {
  const groups = new Map();
  for (const { item, name } of links) {
    const known = groups.get(name) ?? [];
    if (!known.some(({ id }) => id === item.id)) groups.set(name, [...known, item]);
  }
  return [...groups.entries()];
}

// The newest version is undone; to an older one the record goes back.
function wayBack({ id, kind }, { undo, said, seq }, words) {
  if (undo) return undoButton(undo, words);
  if (!said || kind === "proposal") return null;
  return el(
    "button.small",
    {
      data: { back: seq },
      onclick: (press) =>
        act(press.currentTarget, () => call("edit_record", { id, ...said }), "It says again what it said then"),
    },
    "Go back to this",
    el("span.hidden-text", `: ${said.statement}`),
  );
}

// A version that ended the record has the label of its state. "apply" counts as an approval only if
// a person other than the author did it.
function originOf({ origin, agent, status }, { author, kind }, isFirst) {
  if (!isFirst && (isOver(kind, status) || kind === "proposal")) return stateWord(kind, status);
  if (origin !== "apply" || (isPerson(agent) && agent !== author)) return ORIGINS[origin] ?? origin;
  return isFirst ? "written" : "edited";
}

function versionsPart(view) {
  const { versions, versions_total: total, id, title: words } = view;
  if (!versions.length) return null;
  return part(
    "History",
    el(
      "ol.plain",
      versions.map((version, index) =>
        el(
          "li",
          { key: version.seq, data: { version: (total ?? versions.length) - index } },
          el(
            "p.row",
            el("strong", `${(total ?? versions.length) - index}`),
            el("span", originOf(version, view, index === versions.length - 1)),
            el("span.quiet", "by ", byWords(version.agent), " · ", ago(version.ts)),
            version.cause && version.cause !== id && !version.cause.startsWith("AR-")
              ? el("a.id", { href: objectLink(version.cause) }, version.cause)
              : null,
            wayBack(view, version, words),
          ),
          version.diff ? fold(`version ${id} ${version.seq}`, "What changed", diffView(version.diff)) : null,
        ),
      ),
    ),
    total > versions.length ? el("p.quiet", `The ${total - versions.length} oldest are left out.`) : null,
  );
}

function eventsPart(events) {
  if (!events.length) return null;
  return el(
    "section.part",
    { key: "events" },
    fold(
      "events",
      `History (${events.length})`,
      el(
        "ol.lines",
        events.map((event) =>
          el("li", el("span.what", happened({ type: event.event })), el("span.when", byWords(event.by)), ago(event.ts)),
        ),
      ),
    ),
  );
}
