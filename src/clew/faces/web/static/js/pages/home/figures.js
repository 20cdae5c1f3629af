// Small charts of the memory: questions that recall could not answer, the share of proven work, the
// growth of the memory.

import { ago, day, el, shorten, svg } from "../../dom.js";
import { card, nothing, several } from "../../parts.js";
import { link } from "../../router.js";

const DAY = 86_400_000;
const SHOWN = 5;
const STATES = {
  proven: "proven by a run",
  claimed: "claimed",
  unproven: "unproven",
  failed: "failed",
  stale: "stale: files changed since",
  overridden: "overridden",
};

export const figureCards = ({ recall, unanswered, proofs, growth, days }) =>
  el(
    "div.columns",
    { key: "figures" },
    unansweredCard(recall, unanswered),
    proofCard(proofs),
    growthCard(growth, days),
  );

function unansweredCard({ asked, silent }, questions) {
  const answered = asked - silent;
  return card(
    "Questions to memory",
    { id: "asked" },
    asked ? el("p", `${several(answered, "question")} answered, ${silent} unanswered`) : nothing("No questions yet."),
    questions.length
      ? el(
          "ul.lines",
          questions
            .slice(0, SHOWN)
            .map(({ question, times, last_ms: last }) =>
              el(
                "li",
                { key: question },
                el("a.what", { href: link("know", "recall", question) }, shorten(question, 100)),
                times > 1 ? el("span.when", `${times} times`) : null,
                ago(last),
              ),
            ),
        )
      : null,
  );
}

function proofCard({ done, ...states }) {
  const rate = done ? Math.round(((states.proven ?? 0) / done) * 100) : 0;
  return card(
    "Proof rate",
    { id: "proof-rate" },
    done
      ? [
          el("p", el("strong", `${rate} %`), ` of ${several(done, "closed step")} proven`),
          el("progress", { max: 100, value: rate, "aria-label": "Proven" }),
          el(
            "p.quiet",
            Object.entries(states)
              .map(([state, count]) => `${count} ${STATES[state] ?? state}`)
              .join(" · "),
          ),
        ]
      : nothing("No steps are closed yet."),
  );
}

// Bars for each day; the axis says which days and how much the highest is.
function growthCard(rows, days) {
  const perDay = new Map();
  for (const { day: at, items } of rows) perDay.set(+at, (perDay.get(+at) ?? 0) + items);
  const last = Math.floor(Date.now() / DAY);
  const all = Array.from({ length: days }, (_, index) => last - days + 1 + index);
  const most = Math.max(1, ...perDay.values());
  const total = rows.reduce((sum, { items }) => sum + items, 0);
  return card(
    "Growth",
    { id: "growth" },
    el("p", `${several(total, "record")} written or changed in ${days} days`),
    svg(
      "svg.bars",
      {
        viewBox: `0 0 ${days * 10} 60`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${total} written or changed, at most ${most} on a day`,
      },
      all.map((at, index) => {
        const height = ((perDay.get(at) ?? 0) / most) * 58;
        return svg(
          "rect",
          { x: index * 10 + 1, y: 60 - height, width: 8, height },
          svg("title", `${day(at * DAY)}: ${perDay.get(at) ?? 0}`),
        );
      }),
    ),
    el("p.quiet.row.axis-ends", el("span", day(all[0] * DAY)), el("span", `highest: ${most}`), el("span", "today")),
  );
}
