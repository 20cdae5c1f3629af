// The digest of a period as people read it: who did what, in sentences whose names lead to the records.

import { el } from "../../dom.js";
import { markdownButtons } from "../../markdown.js";
import { badge, nothing, recordLink, several } from "../../parts.js";
import { byWords } from "../../people.js";
import { link, objectLink } from "../../router.js";
import { remember, remembered } from "../../state.js";

const DAY = 86_400_000;
// A visit continues while the pauses are shorter than this: a reload is not a new visit.
const PAUSE = 30 * 60 * 1000;

/** @type {[string, string][]} */
const PERIODS = [
  ["visit", "Since your last visit"],
  ["today", "Today"],
  ["yesterday", "Since yesterday"],
  ["week", "7 days"],
  ["month", "30 days"],
];

const midnight = (back) => {
  const at = new Date();
  at.setHours(0, 0, 0, 0);
  at.setDate(at.getDate() - back);
  return at.getTime();
};

const STARTS = {
  today: () => midnight(0),
  yesterday: () => midnight(1),
  week: () => Date.now() - 7 * DAY,
  month: () => Date.now() - 30 * DAY,
};

// When this visit began, and when the one before it ended; kept in this browser for each workspace.
export function lastVisit(workspace) {
  const known = remembered(`visit.${workspace}`, null);
  const now = Date.now();
  const goesOn = known && now - known.at < PAUSE;
  const before = goesOn ? known.before : (known?.at ?? null);
  remember(`visit.${workspace}`, { at: now, before });
  return before;
}

/** The period that an address asks for, and since when it is, in the reader's own days. */
export function periodOf(query, visit) {
  const asked = query.get("since") ?? "";
  const known = asked in STARTS || (asked === "visit" && visit);
  const name = known ? asked : visit ? "visit" : "yesterday";
  const start = name === "visit" ? visit : STARTS[name]();
  return { name, since: new Date(start).toISOString() };
}

export const periodFacets = (chosen, visit, to) =>
  el(
    "nav.facets",
    { "aria-label": "Period" },
    PERIODS.filter(([name]) => name !== "visit" || visit).map(([name, words]) =>
      el(
        "a.facet",
        { href: to(name), "aria-current": name === chosen ? "true" : null, key: name, data: { since: name } },
        words,
      ),
    ),
  );

export const digestButtons = (found) =>
  el(
    "span.row",
    markdownButtons("digest", () => found.markdown),
  );

export function digestParts(found) {
  if (!found.authors.length) return nothing("Nothing was done in this time.", "no-digest");
  return el(
    "div#digest.digest",
    { key: "digest" },
    found.authors.map((author) => authorPart(author)),
  );
}

const authorPart = ({ name, sentences }) =>
  el(
    "section",
    { key: name, data: { author: name } },
    el("h3", el("a", { href: link("home", "agents", name) }, byWords(name))),
    sentenceList(sentences),
  );

export const sentenceList = (sentences) =>
  el(
    "ul.sentences",
    [...Map.groupBy(sentences, ({ verb }) => verb).values()].flatMap((own) => [
      own.slice(0, ALIKE).map(item),
      own.length > ALIKE ? el("li", { key: `${own[0].verb} more` }, folded(own.slice(ALIKE))) : null,
    ]),
  );

const item = (one) => el("li", { key: `${one.verb} ${one.place?.id ?? ""}` }, sentence(one));

// Of many similar sentences only the first few are shown; the rest is one click away.
function folded(own) {
  const [{ verb }] = own;
  const total = own.reduce((sum, one) => sum + one.total, 0);
  const unproven = own.reduce((sum, one) => sum + one.unproven, 0);
  const what =
    verb !== THOUGHT
      ? `${verb} ${several(total, "step")} of ${several(own.length, "more task", "more tasks")}`
      : `noted ${several(total, "thought")} on ${several(own.length, "more question", "more questions")}`;
  return el(
    "details",
    el("summary", what, unproven ? [" ", badge(`${unproven} unproven`, "warn")] : ""),
    el("ul.sentences", own.map(item)),
  );
}

const ALIKE = 5;
const THOUGHT = "thought on";

// A sentence as plain text.
export function spoken(one) {
  const box = el("span", sentence(one));
  return String(box.textContent).replace(/ (\d+ unproven)$/, " ($1)");
}

function sentence({ verb, total, unproven, things, more, place }) {
  if (verb === THOUGHT) return [`noted ${several(total, "thought")} on `, name(place)];
  if (place)
    return [
      `${verb} ${several(total, "step")} of `,
      name(place),
      unproven ? [" ", badge(`${unproven} unproven`, "warn")] : "",
    ];
  const parts = things.flatMap((thing, at) => [
    at ? ", " : "",
    name(thing),
    thing.replacing ? [", replacing ", name(thing.replacing)] : "",
  ]);
  return [`${verb} `, parts, more ? ` and ${more} more` : ""];
}

const name = ({ id, title }) => el("a", { href: objectLink(id) }, title || id);

// How far each plan came.
export function planList(plans) {
  if (!plans.length) return null;
  return el(
    "ul#digest-plans.plain",
    plans.map((plan) =>
      el(
        "li",
        { key: plan.id },
        recordLink(plan),
        el("span.quiet", `${several(plan.closed, "step")} closed by ${plan.by.map((who) => byWords(who)).join(", ")}`),
        plan.unproven ? badge(`${plan.unproven} unproven`, "warn") : null,
      ),
    ),
  );
}
