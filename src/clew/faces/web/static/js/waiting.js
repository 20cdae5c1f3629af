// The number of Inbox items, on every page: in the tab, in the title, and by an optional browser
// notification.

import { tryCall } from "./api.js";
import { setCount } from "./bar.js";
import { address, link } from "./router.js";
import { feed } from "./socket.js";
import { remembered, state } from "./state.js";

const PAUSE = 3_000;
let timer = 0;
/** @type {Record<string, number> | null} */
let before = null;

export function followInbox() {
  const soon = () => {
    if (!timer) timer = window.setTimeout(count, PAUSE);
  };
  feed.on("events", (_event, data) => {
    // Thoughts are numerous and never need a decision.
    if (data.topic && data.topic !== "ledger") soon();
  });
  window.addEventListener("clew-again", soon);
  window.addEventListener("clew-workspace", () => {
    before = null;
    count();
  });
  count();
}

async function count() {
  timer = 0;
  const found = await tryCall("inbox_list", { limit: 1, max_chars: 20_000 }).catch(() => null);
  if (!found) return;
  // The Inbox sets the count itself, but the notification is also needed while it is in the
  // background.
  if (address().place !== "inbox") setCount(Object.values(found.counts).reduce((sum, one) => sum + one, 0));
  tell(found.counts);
  before = found.counts;
}

// Only for new items, and never while the page is visible.
function tell(counts) {
  const asks = (counts.job ?? 0) + (counts.proposal ?? 0);
  const asked = (before?.job ?? 0) + (before?.proposal ?? 0);
  if (!before || asks <= asked || !document.hidden || !remembered("notify", false)) return;
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  const note = new Notification("Clew: something waits for you", {
    body: `${asks} in ${state.workspace}`,
    tag: "clew-inbox",
  });
  note.onclick = () => {
    window.focus();
    location.hash = link("inbox");
  };
}
