// The list of sessions: the newest first, live, with a filter that asks the server, so that every
// session can be found.

import { call } from "../api.js";
import { ago, el, shorten } from "../dom.js";
import { STATUS } from "../facts.js";
import { link } from "../router.js";

const MOST = 100;
// As on Now: active means an event within ten minutes.
const LATELY = 10 * 60 * 1000;
const PAUSE = 250,
  SOON = 1_000,
  CHECK = 5_000;

export class SessionList {
  constructor(chosen) {
    this.chosen = chosen;
    this.items = new Map();
    this.filter = el("input#filter", {
      type: "search",
      placeholder: "Filter sessions",
      "aria-label": "Filter sessions",
      oninput: () => this.#later(PAUSE),
    });
    this.list = el("ul#sessions.sessions");
    this.rest = el("p#more-sessions.quiet", { hidden: true });
    this.element = el("section.side", { "aria-label": "Sessions" }, this.filter, this.list, this.rest);
  }

  show({ sessions, total }) {
    const wanted = new Set(sessions.map((item) => item.id));
    for (const [id, { element }] of this.items)
      if (!wanted.has(id)) {
        element.remove();
        this.items.delete(id);
      }
    for (const [index, item] of sessions.entries()) this.#put(item, index);
    this.rest.hidden = total <= sessions.length;
    this.rest.textContent = `The newest ${sessions.length} of ${total}; the filter finds the others.`;
  }

  // Events of any session of the workspace.
  heard(event, data) {
    if (event === "sessions:list" && !this.filter.value.trim()) return this.show(data);
    if (event === "subscribed" || event === "error" || event === "sessions:list") return;
    const known = this.items.get(data.sessionId);
    if (!known || !event.startsWith("thought:")) return this.#later(SOON);
    known.item.thoughtCount += 1;
    known.item.updatedAt = Date.now();
    this.#redraw(known);
    // An event may be received twice around a list; the server's own count is authoritative.
    this.#later(CHECK);
  }

  close() {
    clearTimeout(this.waiting);
    this.isClosed = true;
  }

  // Entries are changed in place: one that is being clicked must not be replaced under the pointer.
  #put(item, index) {
    const known = this.items.get(item.id) ?? this.#make(item);
    known.item = item;
    fill(known);
    if (this.list.children[index] !== known.element)
      this.list.insertBefore(known.element, this.list.children[index] ?? null);
  }

  #make(item) {
    const known = {
      title: el("strong", { dir: "auto" }),
      facts: el("span.quiet"),
      dot: el("span.dot"),
    };
    known.element = el(
      "li",
      el(
        "a",
        {
          href: link("now", "session", item.id),
          "aria-current": item.id === this.chosen ? "true" : null,
          data: { session: item.id },
        },
        known.title,
        known.facts,
        known.dot,
      ),
    );
    this.items.set(item.id, known);
    return known;
  }

  #redraw(known) {
    if (known.waiting) return;
    known.waiting = setTimeout(() => {
      known.waiting = 0;
      fill(known);
    }, PAUSE);
  }

  // Requests the list again within this time, unless a request is due earlier. Typing always
  // restarts the timer.
  #later(pause) {
    const due = Date.now() + pause;
    if (this.waiting && this.due <= due && pause !== PAUSE) return;
    clearTimeout(this.waiting);
    this.due = due;
    this.waiting = setTimeout(() => {
      this.waiting = 0;
      this.#ask();
    }, pause);
  }

  async #ask() {
    const search = this.filter.value.trim();
    const found = await call("session_list", {
      limit: MOST,
      search: search || undefined,
      max_chars: 200_000,
    }).catch(() => null);
    if (found && !this.isClosed && search === this.filter.value.trim()) this.show(found);
  }
}

function fill({ item, title, facts, dot }) {
  title.textContent = shorten(item.title || "Reasoning without a title", 70);
  facts.replaceChildren(`${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"} · `, ago(item.updatedAt));
  const isQuiet = Date.now() - Date.parse(item.updatedAt) > LATELY;
  const now = item.status === STATUS.ACTIVE && isQuiet ? "quiet" : item.status;
  dot.className = `dot ${now}`;
  dot.title = now;
}
