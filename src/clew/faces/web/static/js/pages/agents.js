// Who works here, and what one of them did: what it wrote last, what it proposed, what became of it.

import { call, tryCall } from "../api.js";
import { ago, el, replace } from "../dom.js";
import { describe } from "../happenings.js";
import { keepDrawn } from "../news.js";
import { card, head, nothing, several, title } from "../parts.js";
import { byWords } from "../people.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";

const PAUSE = 3_000;

export async function show(main, [name]) {
  const body = el("div", { class: "page" });
  const draw = async () => {
    redraw(body, name ? await onePage(name) : await allPage());
    if (!body.isConnected) replace(main, body);
  };
  title(name ?? "Agents");
  return keepDrawn(draw, (event) => !name || event.agent === name, PAUSE);
}

async function allPage() {
  const { agents } = await call("agents_active", { limit: 100 });
  return [
    head("Agents and people", "Whoever wrote here lately, the last one first."),
    card(
      "Authors",
      { id: "agents", count: agents.length },
      agents.length
        ? el(
            "ul",
            { class: "lines" },
            agents.map(({ agent, events, last }) =>
              el(
                "li",
                { data: { key: agent } },
                el("a", { class: "what", href: link("agents", agent) }, byWords(agent)),
                el("span", { class: "when" }, several(events, "event")),
                ago(last.ts_ms),
              ),
            ),
          )
        : nothing("Nobody has written here yet."),
    ),
  ];
}

async function onePage(name) {
  const [found, insight] = await Promise.all([
    call("events_list", { limit: 500, max_chars: 1_000_000 }),
    tryCall("insight", { days: 90 }),
  ]);
  const own = found.events.filter((event) => event.agent === name);
  const proposals = insight?.agents.find((row) => row.agent === name);
  return [
    head(byWords(name), proposals ? proposalWords(proposals) : ""),
    card(
      "What it did last",
      { id: "deeds", count: own.length },
      own.length
        ? el(
            "ol",
            { class: "lines" },
            own.slice(0, 60).map((event) => deed(event)),
          )
        : nothing("Nothing among the newest 500 events of this workspace."),
    ),
  ];
}

const proposalWords = (row) =>
  `${several(row.proposed, "proposal")}: ${row.applied ?? 0} accepted, ${row.rejected ?? 0} rejected, ${(row.staged ?? 0) + (row.deferred ?? 0)} waiting`;

function deed(event) {
  const line = describe(event, new Map());
  return el(
    "li",
    { data: { key: event.seq } },
    el("span", { class: "when" }, line.said),
    el(
      "span",
      { class: "what" },
      line.href ? el("a", { href: line.href }, line.text || line.subject) : line.text,
    ),
    ago(event.ts_ms),
  );
}
