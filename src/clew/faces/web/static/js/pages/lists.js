// All records as lists: filters by kind, status, area and author at the left, the records at the
// right. Every filter is in the address, so a list can be shared, and Back leads to the one before.

import { call } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { STATES, STATUS } from "../facts.js";
import { withKey } from "../keys.js";
import { icon, kindWord } from "../kinds.js";
import { WORK_WORDS } from "../lifecycle.js";
import { keepDrawn } from "../news.js";
import { badge, nothing, recordLink, several, stateBadges, teach, title } from "../parts.js";
import { byWords, isMe } from "../people.js";
import { redraw } from "../redraw.js";
import { link, rewrite } from "../router.js";

const PAGE = 50,
  PAUSE = 1_500,
  TYPED = 200,
  FACETS = 12;
const FILTERS = ["kind", "status", "author", "area", "words", "overdue", "stale", "page"];

// Parses the filters of an address; `status` may be explicitly none.
/** @returns {Record<string, any>} */
const readAsked = (query) =>
  Object.fromEntries(FILTERS.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));

// The address of the same list with other filters; a new filter begins at the first page.
const listLink = (asked, change = {}) =>
  link("know", "lists", { ...asked, ...("page" in change ? {} : { page: "" }), ...change });

function fetchList(asked) {
  return call("record_list", {
    kind: asked.kind ?? "",
    status: asked.status === NONE ? "" : asked.status,
    author: asked.author,
    area: asked.area,
    words: asked.words ?? "",
    count_authors: true,
    overdue: Boolean(asked.overdue),
    stale: Boolean(asked.stale),
    offset: PAGE * (Number(asked.page ?? 1) - 1) || 0,
    limit: PAGE,
    max_chars: 400_000,
  });
}

const NONE = "-";

export async function show(main, _parts, query) {
  const view = new Library(main, query);
  title("Records", "Know");
  // Status changes of shown records are drawn immediately; changes that move rows wait.
  const heard = (event) => matters(event) && view.hear(event);
  const end = await keepDrawn(() => view.look(), heard, PAUSE);
  return {
    end: () => {
      view.ended = true;
      end();
    },
    move: (_rest, changed) => view.go(changed),
  };
}

const matters = (event) => !["system", "jobs"].includes(event.topic);

class Library {
  constructor(main, query) {
    this.main = main;
    this.asked = readAsked(query);
    this.shown = "";
    this.turn = 0;
    this.ended = false;
    /** Whether others have written since the list was drawn. */
    this.others = false;
    this.rail = el("aside.rail", { "aria-label": "Filters", data: { scroll: "rail" } });
    this.body = el("section.rows-of", { data: { scroll: "records" } });
    this.page = el("div.library", this.rail, this.body);
  }

  // The user's own writes are shown immediately: moving rows are expected then.
  hear({ agent }) {
    this.others ||= !isMe(agent);
    return true;
  }

  // The field stays the same element however often the list is drawn.
  get field() {
    return /** @type {HTMLInputElement} */ (this.body.querySelector("#list-words"));
  }

  search() {
    const field = el("input#list-words.grow", {
      type: "search",
      data: { search: "" },
      placeholder: withKey("Words that they hold", "/"),
      "aria-label": "Words that the records hold",
      oninput: () => this.type(),
    });
    field.value = this.asked.words ?? "";
    return field;
  }

  // There are new events, or nothing was drawn yet.
  async look() {
    const { asked } = this;
    const found = await fetchList(asked);
    // Another list may have been requested meanwhile: discard this one.
    if (this.ended || asked !== this.asked) return;
    const ids = found.records.map(({ id }) => id).join("\n");
    const same = !this.shown || ids === this.shown || this.wanted || !this.others;
    this.wanted = false;
    this.others = false;
    if (same) this.draw(found, ids);
    else this.hold(found, ids);
  }

  // Another list, by the address.
  async go(query) {
    this.asked = readAsked(query);
    if (this.field !== document.activeElement) this.field.value = this.asked.words ?? "";
    this.wanted = true;
    const mine = ++this.turn;
    this.body.setAttribute("aria-busy", "true");
    const found = await fetchList(this.asked);
    if (mine !== this.turn || this.ended) return;
    this.wanted = false;
    this.body.scrollTo({ top: 0 });
    this.draw(found, found.records.map(({ id }) => id).join("\n"));
  }

  // Typed words belong to the current list: the address is replaced immediately, without a new
  // history entry, so that Back from a record returns to these words.
  type() {
    clearTimeout(this.timer);
    const asked = { ...this.asked, words: this.field.value.trim(), page: "" };
    rewrite(listLink(asked));
    this.timer = setTimeout(() => this.go(new URLSearchParams(Object.entries(asked))), TYPED);
  }

  draw(found, ids) {
    this.shown = ids;
    this.body.removeAttribute("aria-busy");
    redraw(this.rail, railParts(found, this.asked));
    redraw(this.body, this.bodyParts(found));
    if (!this.page.isConnected) replace(this.main, this.page);
  }

  // Rows keep their position until the new ones are requested.
  hold(found, ids) {
    const known = new Set(this.shown.split("\n"));
    const button = el(
      "button#show-new.small",
      {
        onclick: () => {
          this.draw(found, ids);
          this.field.focus();
        },
      },
      `${several(found.records.filter(({ id }) => !known.has(id)).length || 1, "new record")}. Show`,
    );
    redraw(this.body.querySelector("#list-news"), button);
  }

  bodyParts(found) {
    const { asked } = this;
    return [
      el(
        "div.library-head",
        { key: "head" },
        el("h1", headline(asked)),
        el("div.row", { key: "search" }, this.search()),
        chosenFilters(asked, found),
        el(
          "p#list-count.quiet.row",
          { key: "count", role: "status" },
          countWords(found, asked),
          el("span#list-news", { key: "news" }),
        ),
      ),
      found.records.length
        ? el(
            "ul#records.records",
            { key: "records" },
            found.records.map((record) => row(record, asked)),
          )
        : isUntouched(asked)
          ? empty()
          : nothing("Nothing fits. Take a filter away, or use other words.", "no-records"),
      pager(found, asked),
    ];
  }
}

const isUntouched = (asked) => !FILTERS.some((name) => asked[name]);

/** @param {Record<string, any>} asked */
const headline = ({ kind }) => (kind === "any" ? "All records" : kind ? plural(kindWord(kind)) : "What is known");

const plural = (word) =>
  ({ hypothesis: "Hypotheses", evidence: "Evidence", drift: "Drift" })[word] ??
  `${word[0].toUpperCase()}${word.slice(1)}s`.replace(/ys$/, "ies");

function countWords({ total, offset, records }, asked) {
  if (!total) return "";
  const end = offset + records.length;
  const range = total > records.length ? `${offset + 1} to ${end} of ` : "";
  const tail = asked.page || total > records.length ? ", those changed last first" : "";
  return `${range}${total} ${total === 1 ? "record" : "records"}${tail}`;
}

// The active filters, each with a button to remove it.
function chosenFilters(asked, found) {
  const areas = new Map(found.areas.map(({ id, title: words }) => [id, words]));
  const words = {
    kind: (value) => kindWord(value),
    status: (value) => (value === NONE ? "no status" : statusWords(value)),
    author: (value) => `by ${byWords(value)}`,
    area: (value) => `about ${areas.get(value) ?? value}`,
    overdue: () => "review overdue",
    stale: () => "stale proof",
  };
  const chosen = Object.keys(words).filter((name) => asked[name]);
  if (!chosen.length) return null;
  return el(
    "div#chosen-filters.row",
    { key: "chosen" },
    chosen.map((name) =>
      el(
        "a.facet",
        { "aria-current": "true", href: listLink(asked, { [name]: "" }), key: name, data: { off: name } },
        words[name](asked[name]),
        el("span", { "aria-hidden": "true" }, "\u00a0×"),
        el("span.hidden-text", ", take this filter off"),
      ),
    ),
    chosen.length > 1 ? el("a.facet", { href: link("know", "lists"), key: "all" }, "All filters off") : null,
  );
}

function railParts(found, asked) {
  // Thoughts are not among what is known; they are counted where everything is listed.
  const kinds = Object.entries(found.kinds).filter(([kind]) => asked.kind || kind !== "thought");
  const statuses = Object.entries(found.statuses).map(([name, count]) => [name || NONE, count]);
  return el(
    "details.rail-fold",
    { open: matchMedia("(min-width: 900px)").matches, key: "fold" },
    el("summary", "Filters"),
    el(
      "div.stack",
      facetGroup("Kind", "kind", [["", null], ["any", null], ...kinds], asked, kindRow),
      facetGroup("Status", "status", statuses, asked, (name) => (name === NONE ? "no status" : statusWords(name))),
      facetGroup(
        "Area",
        "area",
        found.areas.map(({ id }) => [id, null]),
        asked,
        (id) => found.areas.find((area) => area.id === id)?.title ?? id,
        el("a", { href: link("know", "areas") }, "All areas"),
      ),
      facetGroup("Author", "author", Object.entries(found.written), asked, (name) => byWords(name)),
      facetGroup("Review", "overdue", [["yes", null]], asked, () => "overdue"),
      staleGroup(asked),
    ),
  );
}

// Proofs over files that changed since; they belong to work, so the filter includes the kind.
const staleGroup = (asked) =>
  el(
    "section.facet-group",
    { key: "stale" },
    el("h2", "Proofs"),
    el(
      "ul.plain.tight",
      el(
        "li",
        el(
          "a",
          {
            href: listLink(asked, asked.stale ? { stale: "", kind: "" } : { stale: "yes", kind: "proof" }),
            "aria-current": asked.stale ? "true" : null,
            data: { facet: "stale", value: "yes" },
          },
          el("span.what", "stale"),
        ),
      ),
    ),
  );

// The labels of badges; several statuses of one state are distinguished by their own.
const STATUS_WORDS = {
  [STATUS.ACTIVE]: "in force",
  [STATUS.SUPERSEDED]: "replaced",
  [STATUS.RETRACTED]: "withdrawn",
  ...WORK_WORDS,
};
function statusWords(name) {
  const own = name.toLowerCase().replaceAll("_", " ");
  const isWithdrawn = STATES[name] === "withdrawn" && own !== "withdrawn";
  return STATUS_WORDS[name] ?? (isWithdrawn ? `withdrawn (${own})` : own);
}

const kindRow = (kind) =>
  kind === "" ? "what is known" : kind === "any" ? "everything" : [el("span.kind", icon(kind)), kindWord(kind)];

// A click sets the filter, a second click removes it.
function facetGroup(words, name, values, asked, say, more = null) {
  const chosen = asked[name] ?? "";
  const known = values.some(([value]) => value === chosen) || !chosen;
  const all = known ? values : [[chosen, 0], ...values];
  if (!all.length) return null;
  const item = ([value, count]) => {
    const isChosen = chosen === value;
    return el(
      "li",
      { key: value || "all" },
      el(
        "a",
        {
          href: listLink(asked, { [name]: isChosen ? "" : value }),
          "aria-current": isChosen ? "true" : null,
          data: { facet: name, value },
        },
        el("span.what", say(value)),
        count === null ? null : el("span.count", String(count)),
      ),
    );
  };
  const first = all.slice(0, FACETS),
    rest = all.slice(FACETS);
  return el(
    "section.facet-group",
    { key: name },
    el("h2", words, more ? el("span.end.quiet", more) : null),
    el("ul.plain.tight", { key: "first" }, first.map(item)),
    rest.length
      ? el(
          "details",
          { key: "rest", open: rest.some(([value]) => value === chosen) },
          el("summary", `${rest.length} more`),
          el("ul.plain.tight", rest.map(item)),
        )
      : null,
  );
}

function row(record, asked) {
  return el(
    "li",
    { key: record.id },
    recordLink(record),
    el(
      "span.row-facts",
      record.changed?.length
        ? badge(`stale: ${record.changed.slice(0, 2).join(", ")} changed since`, "bad")
        : stateBadges(record),
      record.review_due ? badge(`review by ${record.review_due}`, "warn") : null,
      record.areas.map((id) => el("a.facet", { href: listLink(asked, { area: id }) }, id.slice(2))),
      el("span.quiet", [...new Set(record.authors.map((name) => byWords(name)))].join(", ")),
      el("span.quiet", ago(record.changed_ms)),
    ),
    record.says ? el("p.quiet.says", { dir: "auto" }, shorten(record.says, 220)) : null,
  );
}

function pager({ offset, next_offset: next }, asked) {
  if (!offset && next === null) return null;
  const page = Number(asked.page ?? 1) || 1;
  const to = (number, words, id) =>
    el("a.button", { id, href: listLink(asked, { page: number > 1 ? number : "" }) }, words);
  return el(
    "nav.row.pager",
    { "aria-label": "Pages", key: "pager" },
    offset ? to(page - 1, "← Newer", "newer") : null,
    el("span.quiet", `page ${page}`),
    next === null ? null : to(page + 1, "Older →", "older"),
  );
}

function empty() {
  return teach(
    "Nothing is remembered yet",
    "Rules, decisions, lessons, facts and notes appear here, each with its reason and author. Agents write them; you can too, with New.",
  );
}
