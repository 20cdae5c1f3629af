// The outline beside a graph: every box as a row of a table, with its links in words. Who cannot use
// a picture loses nothing.

import { el, shorten } from "../dom.js";
import { icon, kindWord } from "../kinds.js";
import { statusBadge } from "../parts.js";

/**
 * @param {string} caption
 * @param {{id: string, kind: string, title: string, status?: string}[]} nodes
 * @param {{from: string, rel: string, to: string}[]} edges
 * @param {(id: string) => string} href
 */
export function linkTable(caption, nodes, edges, href) {
  const titles = new Map(nodes.map(({ id, title }) => [id, title || id]));
  const links = (id) =>
    edges
      .filter(({ from, to }) => titles.has(from) && titles.has(to) && (from === id || to === id))
      .map((edge) => linkWords(edge, id, titles, href));
  return el(
    "table",
    { class: "outline-table", data: { key: "table" } },
    el("caption", { class: "hidden-text" }, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["Kind", "What it says", "Status", "Links"].map((words) =>
          el("th", { scope: "col" }, words),
        ),
      ),
    ),
    el(
      "tbody",
      { data: { list: "" } },
      nodes.map((node) =>
        el(
          "tr",
          { data: { key: node.id, row: node.id } },
          el("td", {}, el("span", { class: "kind" }, icon(node.kind)), kindWord(node.kind)),
          el(
            "th",
            { scope: "row" },
            el("a", { href: href(node.id) }, shorten(node.title || node.id, 140)),
          ),
          el("td", {}, statusBadge(node.status)),
          el("td", {}, el("ul", { class: "plain tight" }, links(node.id))),
        ),
      ),
    ),
  );
}

function linkWords({ from, rel, to }, id, titles, href) {
  const other = from === id ? to : from;
  const words = rel.replaceAll("_", " ");
  const name = el("a", { href: href(other) }, shorten(titles.get(other), 60));
  return el("li", {}, from === id ? [`${words} `, name] : [name, ` ${words} this`]);
}
