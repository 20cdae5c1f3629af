// The places of the page and the views within them: one table, from which the bar, the keys, the
// addresses and Ctrl-K are generated. A view's module exports `show(main, parts, query)`, which
// draws and returns a function that ends it, or `{end, move(parts, query)}` if it can follow its
// own addresses without being drawn again.

/**
 * @typedef {{name: string, words: string, load: () => Promise<any>, hides?: boolean}} View
 * @typedef {{name: string, words: string, key: string, asks: string, views: View[], aside?: boolean,
 *   hides?: boolean}} Place
 * @type {Place[]}
 */
export const PLACES = [
  {
    name: "home",
    words: "Home",
    key: "o",
    asks: "What was done, and what waits",
    views: [
      { name: "digest", words: "Home", load: () => import("./pages/home.js") },
      { name: "agents", words: "Agents", load: () => import("./pages/agents.js") },
      { name: "projects", words: "Projects", load: () => import("./pages/projects.js") },
    ],
  },
  {
    name: "inbox",
    words: "Inbox",
    key: "i",
    asks: "What needs you",
    views: [
      { name: "all", words: "Inbox", load: () => import("./pages/inbox.js") },
      { name: "later", words: "Later", load: () => import("./pages/inbox.js") },
    ],
    hides: true,
  },
  {
    name: "now",
    words: "Now",
    key: "n",
    asks: "What is going on",
    views: [
      { name: "live", words: "Live", load: () => import("./pages/live.js") },
      { name: "board", words: "Board", load: () => import("./pages/work.js") },
      { name: "session", words: "Reasoning", load: () => import("./pages/reasoning.js") },
      { name: "job", words: "Jobs", load: () => import("./pages/jobs.js") },
    ],
  },
  {
    name: "know",
    words: "Know",
    key: "k",
    asks: "What we know, and why",
    views: [
      { name: "recall", words: "Recall", load: () => import("./pages/know.js") },
      { name: "lists", words: "Records", load: () => import("./pages/lists.js") },
      { name: "areas", words: "Areas", load: () => import("./pages/areas.js") },
      { name: "branches", words: "Branches", load: () => import("./pages/branches.js") },
      { name: "around", words: "Around", load: () => import("./pages/around.js"), hides: true },
      { name: "blocks", words: "Records", load: () => import("./pages/lists.js"), hides: true },
    ],
  },
  {
    name: "history",
    words: "History",
    key: "h",
    asks: "How it came to this",
    views: [{ name: "then", words: "History", load: () => import("./pages/past.js") }],
  },
  {
    name: "settings",
    words: "Settings",
    key: ",",
    aside: true,
    asks: "Account, connecting agents, health",
    views: [
      { name: "you", words: "Account and server", load: () => import("./pages/settings.js") },
      { name: "health", words: "Health", load: () => import("./pages/settings.js") },
    ],
  },
];

/** @param {string} name */
export const placeNamed = (name) => PLACES.find((place) => place.name === name);

// The view of an address, and the remaining parts for it: a first part that names
// no view belongs to the first one, so `#/W/inbox/P-1` is an item of the Inbox.
export function viewOf(place, parts) {
  const view = place.views.find(({ name }) => name === parts[0]);
  return view ? { view, rest: parts.slice(1) } : { view: place.views[0], rest: parts };
}
