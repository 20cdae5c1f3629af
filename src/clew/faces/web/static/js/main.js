// Starts the page: asks what there is, draws the tabs, shows the page that the address names.

import { el, replace, notice } from "./dom.js";
import { send } from "./api.js";
import { feed } from "./socket.js";
import { link, place } from "./router.js";
import { remember, remembered, state } from "./state.js";

const PAGES = [
  ["home", "Home", "h"], ["reasoning", "Reasoning", "r"], ["cards", "Cards", "c"], ["work", "Work", "w"],
  ["jobs", "Jobs", "j"], ["memory", "Memory", "m"], ["map", "Map", "a"],
];

const main = document.getElementById("main");
let leave = null;
let shown = 0;

async function start() {
  theme(remembered("theme", "auto"));
  document.getElementById("theme").addEventListener("click", nextTheme);
  const known = await send("/page/state");
  if (!known.open) return askForToken();
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
  await show();
}

async function show() {
  const { page, parts } = place();
  const turn = ++shown;
  leave?.();
  leave = null;
  markTab(page);
  replace(main, el("p", { class: "quiet" }, "Loading…"));
  try {
    const known = PAGES.some(([name]) => name === page) ? page : "home";
    const [module] = await Promise.all([import(`./pages/${known}.js`), feed.begin()]);
    if (turn !== shown) return;
    const ended = await module.show(main, parts);
    if (turn === shown) leave = ended ?? null;
    else ended?.();
  } catch (problem) {
    if (turn !== shown) return;
    replace(main, el("section", { class: "problem" }, el("h1", {}, "This page could not be shown"),
      el("p", {}, problem.message), el("p", { class: "quiet" }, problem.recovery ?? "")));
  }
}

function drawTabs() {
  const tabs = PAGES.map(([name, title, key]) =>
    el("a", { href: link(name), data: { page: name }, title: `${title} (g ${key})` }, title));
  replace(document.getElementById("tabs"), tabs);
}

function markTab(page) {
  for (const tab of document.querySelectorAll("#tabs a")) {
    if (tab.dataset.page === page) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  document.title = `${PAGES.find(([name]) => name === page)?.[1] ?? "Home"} · Clew`;
}

function drawWorkspaces() {
  const select = document.getElementById("workspace");
  replace(select, state.workspaces.map((name) => el("option", { value: name, selected: name === state.workspace }, name)));
  select.addEventListener("change", () => {
    state.workspace = select.value;
    remember("workspace", select.value);
    show();
  });
}

function showLink(now) {
  const badge = document.getElementById("link");
  badge.textContent = now === "closed" ? "reconnecting" : "live";
  badge.className = `badge ${now === "closed" ? "bad" : "good"}`;
  // The graph starts over by itself; the other pages are read anew.
  if (now === "again" && place().page !== "reasoning") show();
}

const THEMES = ["auto", "light", "dark"];
function theme(name) {
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = name;
}

function nextTheme() {
  const now = remembered("theme", "auto");
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  remember("theme", next);
  theme(next);
  notice(`Theme: ${next}`);
}

let waiting = false;
function keys(event) {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = PAGES.find(([, , key]) => key === event.key);
  if (waiting && page) location.hash = link(page[0]);
  waiting = event.key === "g";
  if (event.key === "t") nextTheme();
  if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  }
}

function askForToken() {
  const input = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const form = el("form", { class: "login", onsubmit: login },
    el("h1", {}, "This Clew asks for its token"), el("label", { for: "token" }, "Token"), input, el("button", {}, "Open"));
  async function login(event) {
    event.preventDefault();
    try {
      await send("/page/login", { token: input.value });
      location.reload();
    } catch (problem) {
      notice(problem.message, "bad");
    }
  }
  replace(main, form);
  input.focus();
}

start().catch((problem) => replace(main, el("p", { class: "problem" }, problem.message)));
