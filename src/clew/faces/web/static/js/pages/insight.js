// How memory does: growth, questions that nothing answered, what was put into agents' contexts,
// whose proposals were accepted, how much is proven, what was never used.

import { call } from "../api.js";
import { ago, day, el, replace, shorten, svg } from "../dom.js";
import { keepDrawn } from "../news.js";
import { card, head, nothing, recordLink, several } from "../parts.js";
import { byWords } from "../people.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";

const DAY = 86_400_000,
  PAUSE = 20_000;

export async function show(main, _parts, query) {
  const body = el("div", { class: "page" });
  const days = Number(query.get("days")) || 30;
  const draw = async () => {
    redraw(body, parts(await call("insight", { days, max_chars: 200_000 }), days));
    if (!body.isConnected) replace(main, body);
  };
  return keepDrawn(draw, (event) => event.topic !== "ledger", PAUSE);
}

function parts(found, days) {
  return [
    head(
      "Insight",
      `The last ${several(days, "day")}, from what the store has counted.`,
      el(
        "nav",
        { class: "facets", "aria-label": "Time" },
        [7, 30, 90].map((count) =>
          el(
            "a",
            {
              class: "facet",
              href: link("insight", { days: count }),
              "aria-current": count === days ? "true" : null,
            },
            `${count} days`,
          ),
        ),
      ),
    ),
    el(
      "div",
      { class: "columns", data: { key: "cards" } },
      growthCard(found.growth, days),
      recallCard(found.recall, found.unanswered),
      toldCard(found.told),
      proofCard(found.proofs),
      agentsCard(found.agents),
      unusedCard(found.never_used),
    ),
  ];
}

// Bars for each day, with the same figures as a table for who cannot see them.
function growthCard(rows, days) {
  const perDay = new Map();
  for (const { day: at, items } of rows)
    perDay.set(Number(at), (perDay.get(Number(at)) ?? 0) + items);
  const last = Math.floor(Date.now() / DAY);
  const all = Array.from({ length: days }, (_, index) => last - days + 1 + index);
  const most = Math.max(1, ...perDay.values());
  const sources = Map.groupBy(rows, ({ source }) => source);
  const total = rows.reduce((sum, { items }) => sum + items, 0);
  return card(
    "Growth of memory",
    { id: "growth", count: total },
    svg(
      "svg",
      {
        class: "bars",
        viewBox: `0 0 ${days * 10} 60`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${total} things written or changed; the table below has the figures`,
      },
      all.map((at, index) => {
        const height = ((perDay.get(at) ?? 0) / most) * 58;
        return svg(
          "rect",
          { x: index * 10 + 1, y: 60 - height, width: 8, height },
          svg("title", {}, `${day(at * DAY)}: ${perDay.get(at) ?? 0}`),
        );
      }),
    ),
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "what"),
          el("th", { scope: "col" }, "written or changed"),
        ),
      ),
      el(
        "tbody",
        {},
        [...sources.entries()].map(([source, own]) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, source),
            el(
              "td",
              {},
              own.reduce((sum, { items }) => sum + items, 0),
            ),
          ),
        ),
      ),
    ),
  );
}

function recallCard({ asked, silent }, unanswered) {
  return card(
    "Questions asked",
    { id: "asked", count: asked },
    asked
      ? el(
          "p",
          {},
          `${several(silent, "question")} of ${asked} met silence: nothing fitting is known.`,
        )
      : nothing("Nobody has asked yet."),
    unanswered.length
      ? [
          el("h3", {}, "Left unanswered"),
          el(
            "ul",
            { class: "lines" },
            unanswered
              .slice(0, 10)
              .map((row) =>
                el(
                  "li",
                  { data: { key: row.question } },
                  el(
                    "a",
                    { class: "what", href: link("know", "recall", row.question) },
                    shorten(row.question, 120),
                  ),
                  row.times > 1 ? el("span", { class: "when" }, `${row.times} times`) : null,
                  ago(row.last_ms),
                ),
              ),
          ),
        ]
      : null,
  );
}

const SOURCES = { resume: "asked for by resume", hooks: "given by hooks" };

function toldCard(rows) {
  return card(
    "Put into agents' contexts",
    { id: "told" },
    rows.length
      ? el(
          "dl",
          { class: "facts" },
          rows.flatMap(({ source, times, tokens }) => [
            el("dt", {}, SOURCES[source] ?? source),
            el("dd", {}, `about ${tokens} tokens in ${several(times, "answer")}`),
          ]),
        )
      : nothing("Neither resume nor a hook has told anything yet."),
  );
}

const STATES = {
  proven: "proven: seen by Clew",
  claimed: "claimed: somebody said so",
  unproven: "closed without proof",
  failed: "failed",
  stale: "stale: files changed since",
  overridden: "overridden",
};

function proofCard({ done, ...states }) {
  const rate = done ? Math.round(((states.proven ?? 0) / done) * 100) : 0;
  return card(
    "Proof rate",
    { id: "proof-rate" },
    done
      ? [
          el(
            "p",
            {},
            el("strong", {}, `${rate} %`),
            ` of ${several(done, "closed step")} are proven.`,
          ),
          el("progress", { max: 100, value: rate, "aria-label": "Proven" }),
          el(
            "dl",
            { class: "facts" },
            Object.entries(states).flatMap(([state, count]) => [
              el("dt", {}, STATES[state] ?? state),
              el("dd", {}, count),
            ]),
          ),
        ]
      : nothing("No step was closed yet."),
  );
}

function agentsCard(rows) {
  return card(
    "Proposals by author",
    { id: "acceptance" },
    rows.length
      ? el(
          "table",
          {},
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ["who", "proposed", "accepted", "rejected", "waiting"].map((words) =>
                el("th", { scope: "col" }, words),
              ),
            ),
          ),
          el(
            "tbody",
            {},
            rows.map((row) =>
              el(
                "tr",
                { data: { key: row.agent } },
                el(
                  "th",
                  { scope: "row" },
                  el("a", { href: link("agents", row.agent) }, byWords(row.agent)),
                ),
                el("td", {}, row.proposed),
                el("td", {}, row.applied ?? 0),
                el("td", {}, row.rejected ?? 0),
                el("td", {}, (row.staged ?? 0) + (row.deferred ?? 0)),
              ),
            ),
          ),
        )
      : nothing("Nobody has proposed anything yet."),
  );
}

function unusedCard({ items, total }) {
  return card(
    "Never used",
    { id: "unused", count: total },
    items.length
      ? el(
          "ul",
          { class: "lines" },
          items
            .slice(0, 10)
            .map((item) =>
              el(
                "li",
                { data: { key: item.id } },
                recordLink({ id: item.id, kind: item.source, title: item.title || item.id }),
                ago(item.ts_ms),
              ),
            ),
        )
      : nothing("Everything was shown by some answer."),
    total > 10 ? nothing(`${total - 10} more.`) : null,
  );
}
