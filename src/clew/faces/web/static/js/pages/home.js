// What changed since you last looked, who is working, what needs you.

import { ago, el, replace, shorten } from "../dom.js";
import { knows, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { link } from "../router.js";
import { state } from "../state.js";

export async function show(main) {
  const sessions = knows("session_list") ? await tryCall("session_list", { limit: 8 }) : null;
  const cards = el("div", { class: "columns" },
    el("section", { class: "card" }, el("h2", {}, "Sessions"), sessionList(sessions?.sessions ?? [])));
  const log = el("ol", { class: "log", id: "log" });
  replace(main, el("div", { class: "page" }, el("h1", {}, `Workspace ${state.workspace}`), cards,
    el("section", { class: "card" }, el("h2", {}, "As it happens"), log)));
  return feed.on("events", (event, data) => {
    if (!data.topic) return;
    log.prepend(el("li", {}, ago(data.ts_ms), " ", el("strong", {}, data.type), ` ${shorten(data.subject ?? "", 80)}`));
    while (log.children.length > 100) log.lastChild.remove();
  });
}

function sessionList(sessions) {
  if (!sessions.length) return el("p", { class: "quiet" }, "None yet.");
  return el("ul", { class: "plain" }, sessions.map((item) => el("li", {},
    el("a", { href: link("reasoning", item.id) }, shorten(item.title, 80)), " ", el("span", { class: "quiet" }, `${item.thoughtCount} thoughts · `, ago(item.updatedAt)))));
}
