// One card beside the picture: all it says, what it is linked to, whether its grounds still stand.

import { tryCall } from "../../api.js";
import { ago, el, replace } from "../../dom.js";
import { icon, kindWord } from "../../kinds.js";
import { badge, idTag, prose, statusBadge } from "../../parts.js";
import { link, objectLink } from "../../router.js";

export async function cardDetail(detail, node, { nodes, edges }, open, close) {
  draw(detail, node, nodes, edges, open, close, null);
  const full = await tryCall("open", { id: node.id, max_chars: 60_000 });
  if (full?.suspect && detail.dataset.of === node.id)
    draw(detail, node, nodes, edges, open, close, full.suspect);
}

function draw(detail, node, nodes, edges, open, close, doubt) {
  detail.dataset.of = node.id;
  const titles = new Map(nodes.map((item) => [item.id, item.title || item.id]));
  const other = (id) =>
    titles.has(id)
      ? el("button", { type: "button", class: "link", onclick: () => open(id) }, titles.get(id))
      : el("span", { class: "id" }, id);
  const out = edges
    .filter((edge) => edge.from === node.id)
    .map((edge) => el("li", {}, el("span", { class: "quiet" }, `${edge.rel} `), other(edge.to)));
  const into = edges
    .filter((edge) => edge.to === node.id)
    .map((edge) =>
      el("li", {}, other(edge.from), el("span", { class: "quiet" }, ` ${edge.rel} this`)),
    );
  replace(
    detail,
    el(
      "header",
      { class: "row quiet" },
      el("span", { class: "kind" }, icon(node.type)),
      kindWord(node.type),
      statusBadge(node.status),
      el(
        "span",
        { class: "end row" },
        idTag(node.id),
        el(
          "button",
          { type: "button", class: "icon", "aria-label": "Close the card", onclick: close },
          "×",
        ),
      ),
    ),
    el("h2", {}, node.title || node.id),
    el("p", { class: "quiet" }, ago(node.last_ts_ms)),
    doubt
      ? el(
          "p",
          { class: "bad" },
          `In doubt: ${doubt.because ?? "what it rests on has fallen"} ${(doubt.path ?? []).join(" → ")}`,
        )
      : null,
    node.text ? prose(node.text) : null,
    node.tags.length
      ? el(
          "p",
          { class: "row" },
          node.tags.map((tag) =>
            tag.startsWith("a:")
              ? el("a", { class: "badge", href: objectLink(tag) }, tag.slice(2))
              : badge(tag),
          ),
        )
      : null,
    out.length || into.length
      ? el("div", {}, el("h3", {}, "Links"), el("ul", { class: "plain tight" }, out, into))
      : null,
    el(
      "p",
      { class: "row" },
      el("a", { class: "button", href: objectLink(node.id) }, "Open"),
      el("a", { class: "button", href: link("know", "around", node.id) }, "Around it"),
    ),
  );
}
