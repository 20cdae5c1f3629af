// Starts the page: loads the state, draws the bar, and from then on follows the address.

import { send } from "./api.js";
import { drawBar, nextTheme, showConnection } from "./bar.js";
import { el, refresh, replace } from "./dom.js";
import { keepFocus } from "./focus.js";
import { keymap, pressed, showKeys } from "./keys.js";
import { skip, start as startShowing } from "./navigation.js";
import { undoLast } from "./notices.js";
import { explain } from "./parts.js";
import { signInByLink } from "./people.js";
import { PLACES } from "./places.js";
import { go } from "./router.js";
import { follow as followScroll } from "./scroll.js";
import { search } from "./search.js";
import { feed } from "./socket.js";
import { remembered, state } from "./state.js";
import { askForToken } from "./token.js";
import { followInbox } from "./waiting.js";

const REFRESH = 20_000;
const main = document.getElementById("main");

async function start() {
  keepFocus();
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.getElementById("new").addEventListener("click", () => makeNew());
  document.querySelector(".skip").addEventListener("click", skip);
  window.addEventListener("keydown", pressed);
  window.addEventListener("clew-locked", () => lock());
  await signInByLink();
  const known = await learn();
  if (!known.open) return lock();
  const wanted = remembered("workspace", known.workspace);
  state.workspace = known.workspaces.includes(wanted) ? wanted : known.workspace;
  drawBar(learn);
  globalKeys();
  followScroll(main);
  feed.watch(showConnection);
  feed.open();
  setInterval(refresh, REFRESH);
  await startShowing(main, learn);
  followInbox();
}

// The state of the server; loaded again when an unknown workspace appears.
async function learn() {
  const known = await send("/page/state");
  state.version = known.version;
  state.guarded = known.token_needed;
  state.person = known.person ?? "";
  if (!known.open) return known;
  state.workspaces = known.workspaces;
  state.operations = new Set(known.operations);
  state.own = known.workspace;
  for (const name of ["home", "project", "command", "locked", "assets", "connect", "clients"])
    state[name] = known[name] ?? state[name];
  return known;
}

let locked = false;
function lock() {
  if (locked) return;
  locked = true;
  document.body.dataset.locked = "";
  askForToken(main);
}

const makeNew = async () => (await import("./create.js")).create();

function globalKeys() {
  const places = Object.fromEntries(PLACES.map(({ name, words, key }) => [`g ${key}`, [words, () => go(name)]]));
  keymap("Everywhere", {
    ...places,
    "Ctrl-k": ["Find anything, go anywhere", () => search()],
    "/": ["Find here, or anywhere", () => toSearch()],
    c: ["New", makeNew],
    z: ["Undo what was done last", () => undoLast()],
    t: ["Light, dark or as the system", nextTheme],
    "?": ["These keys", showKeys],
    g: ["", () => false],
  });
  // Ctrl-K also works in input fields.
  window.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      search();
    }
  });
}

// The search field of the view; if there is none, the global one.
function toSearch() {
  const fields = /** @type {NodeListOf<HTMLInputElement>} */ (main.querySelectorAll("[data-search]"));
  const shown = [...fields].find((field) => field.checkVisibility());
  if (shown) shown.focus();
  else search();
}

start().catch((problem) =>
  replace(
    main,
    el(
      "section.problem",
      { role: "alert" },
      el("h1", "Clew cannot be reached"),
      explain(problem),
      el("p", el("button", { onclick: () => location.reload() }, "Try again")),
    ),
  ),
);
