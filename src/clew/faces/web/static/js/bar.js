// The bar: the four places with their views, the workspace, the connection, who one is.

import { el, replace } from "./dom.js";
import { icon } from "./kinds.js";
import { notice } from "./notices.js";
import { countInTitle } from "./parts.js";
import { ask } from "./people.js";
import { PLACES, placeNamed, viewOf } from "./places.js";
import { address, link, linkIn } from "./router.js";
import { search } from "./search.js";
import { remember, remembered, state } from "./state.js";

export function drawBar(learn) {
  drawPlaces();
  drawWorkspaces();
  drawYou();
  const select = workspaces();
  // A workspace that was created meanwhile is listed when the menu is opened.
  const again = () => learn().then(drawWorkspaces, () => {});
  select.addEventListener("focus", again);
  select.addEventListener("change", () => toWorkspace(select.value));
  document.getElementById("search").addEventListener("click", () => search());
  document.getElementById("you").addEventListener("click", () => ask());
  window.addEventListener("clew-name", drawYou);
  window.addEventListener("clew-workspace", () => {
    drawPlaces();
    drawWorkspaces();
  });
}

const workspaces = () => /** @type {HTMLSelectElement} */ (document.getElementById("workspace"));

// Go to the same page of the other workspace, without parameters that belong to this one.
function toWorkspace(name) {
  const { place, parts } = address();
  const known = placeNamed(place) ?? placeNamed("inbox");
  const { view } = viewOf(known, parts);
  location.hash = view === known.views[0] ? linkIn(name, known.name) : linkIn(name, known.name, view.name);
}

function drawPlaces() {
  replace(
    document.getElementById("tabs"),
    PLACES.filter(({ aside }) => !aside).map(({ name, words, key, asks }) =>
      el(
        "a",
        { href: link(name), data: { page: name }, title: `${asks} (g ${key})` },
        words,
        name === "inbox" ? el("span.count", { hidden: true }) : null,
      ),
    ),
  );
  replace(
    document.getElementById("asides"),
    PLACES.filter(({ aside }) => aside).map(({ name, words, key, asks }) =>
      el(
        "a",
        { href: link(name), data: { page: name }, title: `${asks} (g ${key})` },
        icon(name),
        el("span.words", words),
      ),
    ),
  );
  setCount(counted);
}

let counted = 0;
// The number of Inbox items: in its tab and in the title.
export function setCount(count) {
  counted = count;
  const sign = document.querySelector('#tabs [data-page="inbox"] .count');
  if (sign instanceof HTMLElement) {
    sign.hidden = !count;
    sign.textContent = count > 99 ? "99+" : String(count);
  }
  countInTitle(count);
}

export function markPlace(place, view) {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const tabs = document.querySelectorAll("#tabs a, #asides a");
  for (const tab of tabs) {
    if (tab.dataset.page === place.name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const bar = document.getElementById("views");
  // A hidden view is reached by a link, and is in the bar only while it is shown.
  const views = place.hides ? [] : place.views.filter((one) => !one.hides || one === view);
  bar.hidden = views.length < 2;
  replace(
    bar,
    views.map((one, index) =>
      el(
        "a",
        {
          href: index ? link(place.name, one.name) : link(place.name),
          data: { view: one.name },
          "aria-current": one === view ? "page" : null,
        },
        one.words,
      ),
    ),
  );
}

function drawWorkspaces() {
  replace(
    workspaces(),
    state.workspaces.map((name) => el("option", { value: name, selected: name === state.workspace }, name)),
  );
}

function drawYou() {
  const button = document.getElementById("you");
  const name = state.person;
  button.textContent = name ? initials(name) : "?";
  button.title = name ? `You are signed in as ${name}` : "Sign in";
  button.setAttribute("aria-label", `${button.textContent}: ${button.title}`);
}

const initials = (name) =>
  name
    .replace("@", "")
    .split(/[._-]+/)
    .map((word) => word[0] ?? "")
    .slice(0, 2)
    .join("")
    .toUpperCase();

export function showConnection(now) {
  const sign = document.getElementById("link");
  sign.textContent = now === "closed" ? "reconnecting" : "live";
  sign.className = `badge ${now === "closed" ? "bad" : "good"}`;
  if (now === "again") window.dispatchEvent(new Event("clew-again"));
}

export const THEMES = ["auto", "light", "dark"];
export function nextTheme() {
  const now = remembered("theme", "auto");
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  setTheme(next);
  notice(`Theme: ${next}`);
}

export function setTheme(name) {
  remember("theme", name);
  window.dispatchEvent(new Event("clew-theme"));
}
