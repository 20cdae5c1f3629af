// Home: the number of pending decisions, and the activity meanwhile, in sentences.

import { call, send, tryCall } from "../api.js";
import { el, replace } from "../dom.js";
import { KIND_WORDS } from "../inbox/detail.js";
import { keepDrawn } from "../news.js";
import { card, head, several } from "../parts.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";
import { state } from "../state.js";
import { digestButtons, digestParts, lastVisit, periodFacets, periodOf, planList } from "./home/digest.js";
import { figureCards } from "./home/figures.js";
import { firstRun, isEmpty } from "./home/first.js";

const PAUSE = 5_000;
const ROOM = 400_000;
const FIGURE_DAYS = 30;
const LOOK = 3_000;

export async function show(main, _parts, query) {
  const visit = lastVisit(state.workspace);
  let asked = query;
  let again = 0;
  const body = el("div.page.home");
  const draw = async () => {
    const period = periodOf(asked, visit);
    const [inbox, found, figures] = await Promise.all([
      call("inbox_list", { limit: 1, max_chars: 20_000 }),
      call("digest", { since: period.since, max_chars: ROOM }),
      tryCall("insight", { days: FIGURE_DAYS, max_chars: 100_000 }),
    ]);
    const isNew = isEmpty({ inbox, found, figures });
    if (isNew) state.clients = (await send("/page/state")).clients ?? [];
    clearTimeout(again);
    // Connecting writes no event, so an empty store is polled until something is written.
    if (isNew) again = setTimeout(() => draw().catch(() => {}), LOOK);
    redraw(body, [
      head("Home", `Workspace ${state.workspace}`),
      isNew ? firstRun(state.clients) : waiting(inbox.counts),
      isNew
        ? null
        : card(
            "What was done",
            { id: "done", tools: found.authors.length ? digestButtons(found) : null },
            periodFacets(period.name, visit, (since) => link("home", { since })),
            digestParts(found),
          ),
      found.plans.length ? card("Plans", { id: "plans" }, planList(found.plans)) : null,
      figures && !isNew ? figureCards(figures) : null,
    ]);
    if (!body.isConnected) replace(main, body);
  };
  const end = await keepDrawn(draw, () => true, PAUSE);
  return {
    end: () => {
      clearTimeout(again);
      end();
    },
    move: (_rest, next) => {
      asked = next;
      return draw();
    },
  };
}

function waiting(counts) {
  const kinds = Object.entries(counts);
  const total = kinds.reduce((sum, [, count]) => sum + count, 0);
  return el(
    "a#waiting.card.waiting",
    { href: link("inbox"), key: "waiting" },
    el("strong", total ? `${several(total, "item")} for you to decide` : "You're all caught up"),
    total ? el("span.quiet", kinds.map(([kind, count]) => `${KIND_WORDS[kind] ?? kind} ${count}`).join(" · ")) : null,
  );
}
