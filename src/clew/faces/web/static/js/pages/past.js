// History: one slider over the whole workspace. The contents of the memory at that time, and what
// was added, changed, closed, withdrawn or removed since. The time is in the address.

import { call, tryCall } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { head, problemNotice, teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { link, rewrite } from "../router.js";
import { CHANGES, changeFacets, changeList, figures, heldList, MOST, SOURCES } from "./past/lists.js";
import { Scrubber } from "./past/scrubber.js";

const PAUSE = 1500;
const FIRST = 50;
const ROOM = 400_000;

export async function show(main, _parts, query) {
  let asked = readAddress(query);
  /** @type {{event?: number, as_of?: string}} the moment as slider or address name it; nothing: now */
  let moment = asked.at ? { as_of: asked.at } : {};
  let limit = FIRST,
    turn = 0;
  const body = el("div.stack", { key: "below" });
  const again = () => draw().catch(problemNotice);
  const scrubber = new Scrubber((chosen) => {
    moment = chosen;
    limit = FIRST;
    again();
  });
  const page = el(
    "div.page.past",
    head("History", "What the memory held at any moment, and what became of it."),
    scrubber.element,
    body,
  );
  const more = () => {
    limit = Math.min(MOST, limit + FIRST);
    again();
  };
  async function draw() {
    const mine = ++turn;
    const { source, change } = asked;
    const wanted = { ...moment, source: source || undefined, limit, max_chars: ROOM };
    const [held, since] = await Promise.all([
      call("workspace_at", wanted),
      call("workspace_since", { ...wanted, change: change || undefined }),
    ]);
    if (mine !== turn) return;
    asked = { ...asked, at: held.moment.now ? "" : held.moment.at };
    const { subject } = held.moment.happened ?? {};
    const named = subject ? await tryCall("record_names", { ids: [subject] }) : null;
    if (mine !== turn) return;
    scrubber.show(held, named?.names[0]?.title ?? "");
    if (page.isConnected) rewrite(addressOf(asked));
    redraw(body, held.moment.last_event <= 1 ? empty() : parts(held, since, asked, more));
  }
  const end = await keepDrawn(draw, () => true, PAUSE);
  replace(main, page);
  return {
    end: () => {
      turn++;
      scrubber.end();
      end();
    },
    move: (_rest, next) => {
      const before = asked.at;
      asked = readAddress(next);
      if (asked.at !== before) moment = asked.at ? { as_of: asked.at } : {};
      limit = FIRST;
      return draw();
    },
  };
}

/** @param {URLSearchParams} query */
function readAddress(query) {
  const known = (name, values) => {
    const value = query.get(name) ?? "";
    return values.some(([one]) => one === value) ? value : "";
  };
  return {
    at: query.get("at") ?? "",
    source: known("source", SOURCES),
    change: known("change", CHANGES),
    show: ["held", "since"].find((one) => one === query.get("show")) ?? "",
  };
}

const addressOf = (asked) => link("history", asked);

function parts(held, since, asked, more) {
  const to = (change) => addressOf({ ...asked, ...change });
  // Nothing has changed since now, so the default there is the current contents.
  const shown = asked.show || (held.moment.now ? "held" : "since");
  const tab = (name, words) =>
    el("a", { href: to({ show: name }), "aria-current": shown === name ? "page" : null }, words);
  return [
    figures(held, since, asked.source, to),
    el(
      "section#compare.card",
      { key: "compare" },
      el(
        "nav.tabs",
        { "aria-label": "What is listed", key: "tabs" },
        tab("since", "Compared with now"),
        tab("held", "What it held"),
      ),
      shown === "since" ? [changeFacets(since, asked.change, to), changeList(since, more)] : heldList(held, more),
    ),
  ];
}

function empty() {
  return teach(
    "Nothing has happened here yet",
    "Every version of everything is kept; once something is written, the slider leads back to any moment.",
  );
}
