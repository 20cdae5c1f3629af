// An empty store: what Clew is, how an agent connects to this address, and whether one has.

import { connectLines } from "../../connect.js";
import { el } from "../../dom.js";
import { badge, card, command } from "../../parts.js";
import { state } from "../../state.js";

/** Whether nothing was ever written or decided here. */
export const isEmpty = ({ inbox, found, figures }) =>
  !found.authors.length && !inbox.total && !(figures?.growth ?? []).some(({ items }) => items > 0);

export function firstRun(clients) {
  const names = clients.length ? clients : [];
  return [
    card(
      "Connect your first agent",
      { id: "first-run" },
      el(
        "p",
        "Clew remembers what your agents decide, learn and prove, and asks you where they contradict each other.",
      ),
      el(
        "p#first-agent.row",
        { role: "status" },
        names.length
          ? [badge("connected", "good"), ` ${names.join(", ")}`]
          : [badge("waiting", "warn"), " for the first agent"],
      ),
      connectLines(),
    ),
    card(
      "Look at a demo",
      { id: "demo" },
      el("p", "A week of work of two agents, in a store of its own:"),
      command(`${state.command || "clew"} demo`),
    ),
  ];
}
