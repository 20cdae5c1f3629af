// Who works here, and the complete activity of one of them, in sentences.

import { call } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { card, head, nothing, several, title } from "../parts.js";
import { byWords } from "../people.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";
import { digestButtons, periodFacets, periodOf, sentenceList } from "./home/digest.js";

const PAUSE = 5_000;

export async function show(main, [name], query) {
  let asked = query;
  const body = el("div.page");
  const draw = async () => {
    const period = periodOf(asked.has("since") ? asked : new URLSearchParams("since=week"), null);
    const found = await call("digest", { since: period.since, max_chars: 400_000 });
    redraw(body, name ? onePage(name, found, period) : allPage(found, period));
    if (!body.isConnected) replace(main, body);
  };
  title(name ?? "Agents");
  const end = await keepDrawn(draw, () => true, PAUSE);
  return {
    end,
    move: ([next], changed) => {
      name = next;
      asked = changed;
      return draw();
    },
  };
}

const count = ({ sentences }) => sentences.reduce((sum, { total }) => sum + total, 0);

function allPage(found, period) {
  return [
    head("Agents", "Who worked here, and what was done."),
    card(
      "Authors",
      { id: "agents", count: found.authors.length },
      periodFacets(period.name, null, (since) => link("home", "agents", { since })),
      found.authors.length
        ? el(
            "ul.lines",
            found.authors.map((author) =>
              el(
                "li",
                { key: author.name },
                el("a.what", { href: link("home", "agents", author.name) }, byWords(author.name)),
                el("span.when", several(count(author), "action")),
              ),
            ),
          )
        : nothing("No activity in this time."),
    ),
  ];
}

function onePage(name, found, period) {
  const own = found.authors.find((author) => author.name === name);
  return [
    head(byWords(name), own ? several(count(own), "action") : ""),
    card(
      "What was done",
      { id: "deeds", tools: own ? digestButtons(found) : null },
      periodFacets(period.name, null, (since) => link("home", "agents", name, { since })),
      own ? sentenceList(own.sentences) : nothing("Nothing in this time."),
    ),
  ];
}
