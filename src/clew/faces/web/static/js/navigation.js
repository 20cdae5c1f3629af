// Shows the view of the address, with or without the panel of a record next to it.

import { Unreachable } from "./api.js";
import { markPlace } from "./bar.js";
import { el, replace } from "./dom.js";
import { movedTo, retiredTo } from "./moved.js";
import { closePanel, openPanel, panelId } from "./object/panel.js";
import { explain, title } from "./parts.js";
import { PLACES, placeNamed, viewOf } from "./places.js";
import { address, link, linkIn } from "./router.js";
import { arrive, restore } from "./scroll.js";
import { feed } from "./socket.js";
import { remember, state } from "./state.js";

/** @type {HTMLElement} */
let main;
let learn;
let turn = 0;
// The view in `main`: its function to end it, and the one that follows its addresses.
let drawn = { view: null, workspace: "", end: null, move: null, hash: "", failed: false };
// The address of the view behind the panel.
let under = "";

export async function start(element, learnAgain) {
  main = element;
  learn = learnAgain;
  window.addEventListener("hashchange", (event) => show(new URL(event.oldURL).hash));
  // A failed view is retried when the server is back.
  window.addEventListener("clew-again", () => {
    if (unloaded) location.reload();
    else if (drawn.failed) show();
  });
  await show();
  warm();
}

// A browser may cache a failed import permanently; then only a reload helps.
let unloaded = false;

// Prefetches the other views when idle: opening them then takes no time, and works even if the
// server went away.
function warm() {
  const views = PLACES.flatMap((place) => place.views);
  const next = () => {
    const view = views.shift();
    if (view)
      view
        .load()
        .then(() => setTimeout(next, 30))
        .catch(() => {});
  };
  setTimeout(next, 1500);
}

export const isNew = (workspace, place) =>
  state.workspaces.includes(workspace) &&
  (!place || place === "o" || place === "agents" || placeNamed(place) !== undefined);

// Normalizes the address; false if its workspace does not exist.
async function settle() {
  const words = location.hash
    .replace(/^#\/?/, "")
    .split("?")[0]
    .split("/")
    .filter(Boolean)
    .map(decodeURIComponentSafely);
  const moved = movedTo(words, isNew);
  if (moved || !words.length) {
    const [place, ...parts] = moved ?? ["home"];
    history.replaceState(history.state, "", link(place, ...parts));
    return true;
  }
  if (!state.workspaces.includes(words[0])) await learn();
  if (!state.workspaces.includes(words[0])) return false;
  if (words.length === 1) history.replaceState(history.state, "", linkIn(words[0], "home"));
  const retired = retiredTo(words[1], words.slice(2));
  if (retired) history.replaceState(history.state, "", linkIn(words[0], ...retired));
  return true;
}

function decodeURIComponentSafely(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export async function show(before = "") {
  const mine = ++turn;
  const fresh = !drawn.view;
  if (!(await settle().catch(() => true))) return unknownWorkspace(mine);
  if (mine !== turn) return;
  const to = address();
  if (to.workspace !== state.workspace) {
    state.workspace = to.workspace;
    remember("workspace", to.workspace);
    window.dispatchEvent(new Event("clew-workspace"));
  }
  if (to.place === "o" && to.parts.length) {
    if (!fresh && drawn.workspace === to.workspace && !drawn.failed) {
      if (!panelId()) under = before || drawn.hash;
      arrive();
      return openPanel(to.parts.join("/"), () => (location.hash = under));
    }
    return draw(mine, wholeObject, to.parts, to.query, "o");
  }
  closePanel();
  const here = location.hash;
  if (!drawn.failed && here === under && drawn.workspace === to.workspace) {
    under = "";
    arrive();
    return;
  }
  under = "";
  const place = placeNamed(to.place) ?? placeNamed("home");
  const { view, rest } = viewOf(place, to.parts);
  if (!drawn.failed && drawn.view === view && drawn.move && drawn.workspace === to.workspace) {
    markPlace(place, view);
    arrive();
    drawn.hash = here;
    return drawn.move(rest, to.query);
  }
  await draw(mine, view, rest, to.query, place.name, place);
}

const wholeObject = { name: "o", words: "Record", load: () => import("./object/whole.js") };

// The former view stays until the next page is ready, so that nothing flickers.
async function draw(mine, view, parts, query, name, place = null) {
  const first = !drawn.view;
  drawn.end?.();
  drawn = {
    view,
    workspace: state.workspace,
    end: null,
    move: null,
    hash: location.hash,
    failed: false,
  };
  const kept = arrive();
  markPlace(place ?? { name, views: [] }, view);
  title(view.words === place?.words || !place ? view.words : `${view.words} · ${place.words}`);
  main.setAttribute("aria-busy", "true");
  try {
    const [module] = await Promise.all([view.load(), feed.begin()]);
    if (mine !== turn) return;
    const shown = await module.show(stageFor(), parts, query);
    const { end, move = null } = typeof shown === "function" ? { end: shown } : (shown ?? {});
    if (mine !== turn) return void end?.();
    drawn = { ...drawn, end, move };
    arrived(kept, first);
  } catch (problem) {
    if (mine === turn) failed(problem);
  } finally {
    if (mine === turn) main.removeAttribute("aria-busy");
  }
}

// A view draws into its own element. The former view stays in the document until the first line is
// rendered; late drawings of an older view are invisible.
function stageFor() {
  for (const node of main.querySelectorAll(":scope > .stage:empty")) node.remove();
  const before = [...main.childNodes];
  const stage = el("div.stage");
  // First in the page, so that looking up a name finds the new one of two.
  main.prepend(stage);
  const filled = new MutationObserver(() => {
    filled.disconnect();
    if (stage.isConnected) for (const node of before) node.remove();
  });
  filled.observe(stage, { childList: true });
  return stage;
}

// Restores the scroll position, and announces the page to screen readers.
function arrived(kept, first) {
  restore(kept);
  document.getElementById("said").textContent = document.title;
  const now = document.activeElement;
  if (first || main.contains(now) || now?.closest("dialog, #panel")) return;
  const heading = main.querySelector("h1") ?? main;
  if (!heading.hasAttribute("tabindex")) heading.setAttribute("tabindex", "-1");
  /** @type {HTMLElement} */ (heading).focus({ preventScroll: true });
}

function failed(problem) {
  drawn.failed = true;
  // A missing file means that the server has another version now.
  unloaded = !(problem instanceof Unreachable) && /imported module/.test(problem.message);
  if (unloaded)
    learn()
      .then(({ assets }) => {
        if (assets && !import.meta.url.includes(assets)) location.reload();
      })
      .catch(() => {});
  replace(
    main,
    el(
      "section.problem",
      { role: "alert" },
      el("h1", "This could not be shown"),
      explain(readable(problem)),
      el("p.row", el("button#again", { onclick: () => show() }, "Try again"), wayBack()),
    ),
  );
}

// From a missing object to the list that would contain it.
function wayBack() {
  const place = placeNamed(address().place) ?? placeNamed("inbox");
  const { view, rest } = viewOf(place, address().parts);
  const [words, href] =
    rest.length && place.name !== "inbox"
      ? [`Show all: ${view.words}`, link(place.name, view.name)]
      : ["Go to the Inbox", link("inbox")];
  return el("a#way-back.button", { href }, words);
}

const readable = (problem) =>
  /fetch|import/i.test(problem.message)
    ? new Unreachable("The server does not answer. This page goes on by itself when it does.")
    : problem;

function unknownWorkspace(mine) {
  if (mine !== turn) return;
  const { workspace } = address();
  title("No such workspace");
  feed.begin();
  drawn.end?.();
  drawn = { view: null, workspace: "", end: null, move: null, hash: location.hash, failed: true };
  replace(
    main,
    el(
      "section.problem",
      { role: "alert" },
      el("h1", `There is no workspace “${workspace}” here`),
      el("p", "It may be on another server, or nothing was written into it yet. These are here:"),
      el(
        "ul.plain",
        state.workspaces.map((name) => el("li", el("a", { href: linkIn(name, "inbox") }, name))),
      ),
    ),
  );
}

// The page's own address must not change: it identifies the view.
export function skip(event) {
  event.preventDefault();
  main.focus();
}
