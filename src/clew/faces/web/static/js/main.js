// Starts the page: asks what there is, draws the tabs, shows the page that the address names.

import { send } from "./api.js";
import { el, notice, refresh, replace } from "./dom.js";
import { explain, title } from "./parts.js";
import { link, place } from "./router.js";
import { feed } from "./socket.js";
import { remember, remembered, state } from "./state.js";
import { askForToken } from "./token.js";

const PAGES = [
  ["home", "Home", "h"],
  ["reasoning", "Reasoning", "r"],
  ["cards", "Cards", "c"],
  ["work", "Work", "w"],
  ["jobs", "Jobs", "j"],
  ["memory", "Memory", "m"],
  ["map", "Map", "a"],
];
const REFRESH = 20_000;

const main = document.getElementById("main");
let leave = null;
let shown = 0;

async function start() {
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.querySelector(".skip").addEventListener("click", skip);
  const known = await send("/page/state");
  if (!known.open) return askForToken(main);
  state.version = known.version;
  state.workspaces = known.workspaces;
  state.operations = new Set(known.operations);
  const wanted = remembered("workspace", known.workspace);
  state.workspace = known.workspaces.includes(wanted) ? wanted : known.workspace;
  drawWorkspaces();
  drawTabs();
  feed.watch(showLink);
  feed.open();
  window.addEventListener("hashchange", show);
  window.addEventListener("keydown", keys);
  setInterval(refresh, REFRESH);
  await show();
}

// What was shown stays until the next page is ready, so that nothing flickers.
async function show() {
  const { page, parts } = place();
  const turn = ++shown;
  leave?.();
  leave = null;
  const known = PAGES.some(([name]) => name === page) ? page : "home";
  markTab(known);
  main.setAttribute("aria-busy", "true");
  try {
    const [module] = await Promise.all([import(`./pages/${known}.js`), feed.begin()]);
    if (turn !== shown) return;
    const ended = await module.show(main, parts);
    if (turn === shown) leave = ended ?? null;
    else ended?.();
  } catch (problem) {
    if (turn === shown)
      replace(
        main,
        el(
          "section",
          { class: "problem", role: "alert" },
          el("h1", {}, "This could not be shown"),
          explain(problem),
        ),
      );
  } finally {
    if (turn === shown) main.removeAttribute("aria-busy");
  }
}

// The page's own address must not change: it says what is shown.
function skip(event) {
  event.preventDefault();
  main.focus();
}

function drawTabs() {
  const tabs = PAGES.map(([name, words, key]) =>
    el("a", { href: link(name), data: { page: name }, title: `${words} (g ${key})` }, words),
  );
  replace(document.getElementById("tabs"), tabs);
}

function markTab(page) {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const tabs = document.querySelectorAll("#tabs a");
  for (const tab of tabs) {
    if (tab.dataset.page === page) {
      tab.setAttribute("aria-current", "page");
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else tab.removeAttribute("aria-current");
  }
  title(PAGES.find(([name]) => name === page)[1]);
}

function drawWorkspaces() {
  const select = /** @type {HTMLSelectElement} */ (document.getElementById("workspace"));
  replace(
    select,
    state.workspaces.map((name) =>
      el("option", { value: name, selected: name === state.workspace }, name),
    ),
  );
  select.addEventListener("change", () => {
    state.workspace = select.value;
    remember("workspace", select.value);
    show();
  });
}

function showLink(now) {
  const sign = document.getElementById("link");
  sign.textContent = now === "closed" ? "reconnecting" : "live";
  sign.className = `badge ${now === "closed" ? "bad" : "good"}`;
  if (now === "again") window.dispatchEvent(new Event("clew-again"));
}

const THEMES = ["auto", "light", "dark"];
function nextTheme() {
  const now = remembered("theme", "auto");
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  remember("theme", next);
  window.dispatchEvent(new Event("clew-theme"));
  notice(`Theme: ${next}`);
}

let waiting = false;
function keys(event) {
  if (
    event.target.closest("input, textarea, select") ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey
  )
    return;
  const page = PAGES.find(([, , key]) => key === event.key);
  if (waiting && page) location.hash = link(page[0]);
  waiting = event.key === "g";
  if (event.key === "t") nextTheme();
  if (event.key === "/") {
    /** @type {HTMLInputElement | null} */
    const search = main.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
}

start().catch((problem) =>
  replace(main, el("section", { class: "problem", role: "alert" }, explain(problem))),
);
