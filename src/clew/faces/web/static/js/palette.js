// The box behind Ctrl-K: the input is matched against pages and actions immediately, and sent to
// recall and the lists after a short pause.

import { tryCall } from "./api.js";
import { el, replace, shorten } from "./dom.js";
import { dialog } from "./keys.js";
import { icon, kindOf, kindWord } from "./kinds.js";
import { PLACES } from "./places.js";
import { go, link, linkIn, objectLink } from "./router.js";
import { state } from "./state.js";

const PAUSE = 180,
  MOST = 24;
let isOpen = false;

export function openSearch() {
  if (isOpen) return;
  isOpen = true;
  const list = el("ul#found.found", { role: "listbox", "aria-label": "Found" });
  const input = el("input#find-anything", {
    type: "search",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-label": "Find anything",
    placeholder: "A word, an id, a page, an action, a question…",
    autocomplete: "off",
    oninput: () => box.look(),
    onkeydown: (event) => box.key(event),
  });
  const { box: frame, shut } = dialog("Find anything", "palette", input, list);
  const box = new Palette(input, list, shut);
  new MutationObserver((_changes, observer) => {
    if (frame.isConnected) return;
    observer.disconnect();
    isOpen = false;
  }).observe(document.body, { childList: true });
  box.look();
  input.focus();
}

class Palette {
  constructor(input, list, shut) {
    this.input = input;
    this.list = list;
    this.shut = shut;
    this.items = [];
    this.at = 0;
    this.turn = 0;
  }

  look() {
    const words = this.input.value.trim();
    this.show(here(words), words);
    clearTimeout(this.timer);
    if (words.length > 1) this.timer = setTimeout(() => this.ask(words), PAUSE);
  }

  async ask(words) {
    const mine = ++this.turn;
    const found = await inStore(words);
    if (mine !== this.turn || this.input.value.trim() !== words) return;
    const known = here(words);
    const hrefs = new Set(known.map((item) => item.href));
    this.show([...known, ...found.filter((item) => !hrefs.has(item.href))], words);
  }

  show(items, words) {
    const chosen = this.items[this.at]?.href;
    this.items = items.slice(0, MOST);
    const again = this.items.findIndex((item) => item.href && item.href === chosen);
    this.at = Math.max(0, again);
    replace(
      this.list,
      this.items.length
        ? this.items.map((item, index) => this.row(item, index))
        : el("li.quiet", words ? "Nothing is called like that." : ""),
    );
    this.mark();
  }

  row(item, index) {
    return el(
      "li",
      { role: "option", id: `found-${index}`, data: { found: item.kind }, onclick: () => this.take(index) },
      el("span.kind", icon(item.kind)),
      el("span.what", shorten(item.words, 120)),
      el("span.quiet", item.hint ?? kindWord(item.kind)),
    );
  }

  mark() {
    [...this.list.children].forEach((row, index) => {
      row.setAttribute("aria-selected", String(index === this.at));
      if (index === this.at) row.scrollIntoView({ block: "nearest" });
    });
    this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.at = (this.at + step + this.items.length) % Math.max(1, this.items.length);
      this.mark();
    }
    if (event.key === "Enter") {
      event.preventDefault();
      this.take(this.at);
    }
  }

  take(index) {
    const item = this.items[index];
    if (!item) return;
    this.shut();
    if (item.run) item.run();
    else location.hash = item.href;
  }
}

// Pages, actions and workspaces whose words contain all of the input; an id leads to its record.
function here(words) {
  const typed = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (item) => typed.every((word) => `${item.words} ${item.also ?? ""}`.toLowerCase().includes(word));
  const own = [...actions(), ...pages(), ...workspaces()].filter(fits);
  const asked = words.length > 3 ? [question(words)] : [];
  return [...(isId(words) ? [record(words)] : []), ...own, ...asked];
}

const isId = (words) => !/\s/.test(words) && kindOf(words) !== "record";
const record = (id) => ({ kind: kindOf(id), words: id, href: objectLink(id), hint: "open" });
const question = (words) => ({
  kind: "question",
  words: `Ask memory: ${words}`,
  href: link("know", "recall", words),
  hint: "recall",
});

function pages() {
  return PLACES.flatMap((place) => [
    { kind: "page", words: place.words, also: place.asks, href: link(place.name), hint: "page" },
    ...place.views
      .slice(1)
      .filter((view) => !view.hides)
      .map((view) => ({
        kind: "page",
        words: view.words,
        also: place.words,
        href: link(place.name, view.name),
        hint: `page in ${place.words}`,
      })),
  ]);
}

function actions() {
  const make = (kind, words) => ({
    kind: "action",
    words,
    also: "create new write add",
    hint: "action",
    run: async () => (await import("./create.js")).create(kind),
  });
  return [
    make("decision", "Write a decision, rule or lesson"),
    make("plan", "Make a plan"),
    make("task", "Start a task"),
    make("note", "Write a note"),
    make("job", "Create a job"),
    {
      kind: "action",
      words: "Keys",
      also: "help shortcuts",
      hint: "action",
      run: async () => (await import("./keys.js")).showKeys(),
    },
    {
      kind: "action",
      words: "Sign in",
      also: "identity you",
      hint: "action",
      run: async () => (await import("./people.js")).ask(),
    },
    {
      kind: "action",
      words: "Connect an agent",
      also: "mcp claude codex",
      hint: "action",
      run: () => go("settings"),
    },
  ];
}

const workspaces = () =>
  state.workspaces
    .filter((name) => name !== state.workspace)
    .map((name) => ({
      kind: "page",
      words: `Workspace ${name}`,
      href: linkIn(name, "inbox"),
      hint: "workspace",
    }));

export async function inStore(words) {
  const [answer, sessions, work] = await Promise.all([
    tryCall("recall", { query: words, limit: 10, sources: ["all"], max_chars: 60_000 }),
    tryCall("session_list", { search: words, limit: 5 }),
    tryCall("tasks_context", {
      tasks_limit: 200,
      plans_limit: 50,
      include_all: true,
      max_chars: 400_000,
    }),
  ]);
  const holds = (text) => String(text).toLowerCase().includes(words.toLowerCase());
  const found = [
    ...[...(work?.plans ?? []), ...(work?.tasks ?? [])]
      .filter((item) => holds(item.title))
      .slice(0, 6)
      .map((item) => ({ kind: item.kind ?? kindOf(item.id), id: item.id, words: item.title })),
    ...(sessions?.sessions ?? [])
      .filter((item) => holds(item.title))
      .map((item) => ({ kind: "session", id: item.id, words: item.title })),
    ...(answer?.results ?? []).map((item) => ({
      kind: ["card", "block"].includes(item.source) ? item.type : item.source,
      id: item._id,
      words: item.excerpt,
    })),
  ];
  return found.map((item) => ({ ...item, href: objectLink(item.id) }));
}
