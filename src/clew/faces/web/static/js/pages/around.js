// The neighbourhood of one record as a tree: each record is listed under the one that it is linked
// with, by the words of the link. `#/WORKSPACE/know/around/ID`.

import { call } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { relWords } from "../links.js";
import { keepDrawn } from "../news.js";
import { head, recordLink, several, stateBadges, teach, title, views } from "../parts.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";

const PAUSE = 1_000,
  DEPTHS = [1, 2, 3];

export async function show(main, parts, query) {
  if (!parts[0]) return void replace(main, unnamed());
  let asked = readAsked(parts, query),
    found = null;
  const body = el("div.page.whole");
  const draw = async () => {
    const mine = asked;
    const answer = await call("record_around", {
      id: mine.id,
      depth: mine.depth,
      expand: mine.open,
      limit: 60 + 20 * mine.open.length,
      max_chars: 400_000,
    });
    if (mine !== asked) return;
    found = answer;
    const center = found.nodes.find(({ id }) => id === found.id);
    redraw(body, [headOf(center, found, asked), el("section.card", { id: "around", key: "tree" }, tree(found, asked))]);
    if (!body.isConnected) replace(main, body);
    title(`Around ${shorten(center.title, 50)}`, "Know");
  };
  const end = await keepDrawn(draw, (event) => concerns(event, found), PAUSE);
  return {
    end,
    move: (rest, changed) => {
      asked = readAsked(rest, changed);
      return draw();
    },
  };
}

const unnamed = () =>
  el(
    "div.page",
    teach("Around which record?", "Open any record and press “Around it”, or put its id at the end of the address."),
  );

const readAsked = ([id], query) => ({
  id,
  depth: Number(query.get("depth")) || 2,
  open: (query.get("open") ?? "").split(",").filter(Boolean),
});

const LINKING = ["records_linked", "graph_applied", "card_written"];
const concerns = (event, found) =>
  event.topic !== "system" &&
  (!found || found.nodes.some(({ id }) => id === event.subject) || LINKING.includes(event.type));

const hrefOf = ({ id, depth, open }) =>
  link("know", "around", id, { depth: depth === 2 ? "" : depth, open: open.join(",") });

function headOf(center, found, asked) {
  const others = found.nodes.length - 1;
  const count = others
    ? `${several(others, "record")} within ${several(asked.depth, "step")}`
    : "Nothing is linked with it yet.";
  return head(
    `Around “${shorten(center.title, 80)}”`,
    el(
      "span#around-count",
      { role: "status" },
      count,
      found.left_out ? `; ${found.left_out} more are linked with them` : "",
    ),
    views(
      "How far",
      DEPTHS.map((depth) => [hrefOf({ ...asked, depth }), depth, several(depth, "step")]),
      asked.depth,
    ),
  );
}

// Breadth first, so that each record has its place under the nearest one that it is linked with.
function walked({ id: start, nodes, edges }) {
  const known = new Map(nodes.map((node) => [node.id, { ...node, below: [], rel: "" }]));
  const seen = new Set([start]);
  for (let ring = [start]; ring.length; ) {
    const next = [];
    for (const id of ring)
      for (const { from, rel, to } of edges) {
        const other = from === id ? to : to === id ? from : null;
        if (!other || seen.has(other) || !known.has(other)) continue;
        seen.add(other);
        known.get(id).below.push(Object.assign(known.get(other), { rel: relWords(rel, to === id) }));
        next.push(other);
      }
    ring = next;
  }
  return known.get(start);
}

const tree = (found, asked) => branch(walked(found), asked);

function branch(node, asked) {
  const isOpen = asked.open.includes(node.id);
  const open = isOpen ? asked.open.filter((id) => id !== node.id) : [...asked.open, node.id];
  return el(
    "ul.tree",
    node.below.map((one) =>
      el(
        "li",
        { key: one.id, data: { near: one.id } },
        el(
          "p.row",
          el("span.quiet.rel", one.rel),
          recordLink(one),
          stateBadges(one),
          el(
            "a.button.small",
            { href: link("know", "around", one.id) },
            "Around it",
            el("span.hidden-text", `: ${one.title}`),
          ),
        ),
        branch(one, asked),
      ),
    ),
    node.hidden || isOpen
      ? el(
          "li",
          { key: "more" },
          el(
            "a.button.small",
            { href: hrefOf({ ...asked, open }), data: { more: node.id } },
            isOpen ? "Show fewer" : `Show ${several(node.hidden, "more", "more")}`,
          ),
        )
      : null,
  );
}
