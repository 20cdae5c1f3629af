// The Inbox: everything that waits for a person, in one list with one detail and one set of keys.
// What is listed stays where it is: arrivals wait behind a button, what others dealt with is marked
// in place, so nothing changes under a pointer.

import { call } from "../api.js";
import { setCount } from "../bar.js";
import { ago, day, el, replace } from "../dom.js";
import { askFields } from "../forms.js";
import { detailParts, KIND_ICONS, KIND_WORDS, moreAbout } from "../inbox/detail.js";
import { DAYS, openItem, putOff, takeUp, waysOf } from "../inbox/ways.js";
import { keymap, onEscape } from "../keys.js";
import { icon } from "../kinds.js";
import { keepDrawn } from "../news.js";
import { notice } from "../notices.js";
import { problemNotice, several } from "../parts.js";
import { named } from "../people.js";
import { redraw } from "../redraw.js";
import { address, link, rewrite } from "../router.js";

const MOST = 200,
  PAUSE = 1200;
// A press right after the detail changed was meant for what stood there before.
const GUARD = 350;

export async function show(main, parts, query) {
  const page = new InboxPage(main, parts, query);
  await page.start();
  return { end: () => page.end(), move: (rest, asked) => page.move(rest, asked) };
}

const keyOf = (item) => `${item.kind} ${item.id}`;

class InboxPage {
  constructor(main, parts, query) {
    this.main = main;
    this.later = address().parts[0] === "later";
    this.kind = query.get("kind") ?? "";
    this.wanted = parts[0] ?? "";
    this.items = [];
    this.known = new Map();
    this.gone = new Set();
    this.picked = new Set();
    this.chosen = "";
    this.more = {};
    this.calm = 0;
    this.list = el("ul", {
      class: "rows",
      id: "matters",
      role: "listbox",
      "aria-label": "What needs you",
      tabindex: "0",
      data: { scroll: "matters" },
    });
    this.detail = el("article", {
      class: "detail",
      id: "matter",
      "aria-label": "The chosen one",
      data: { scroll: "matter" },
    });
    this.top = el("header", { class: "list-top" });
    this.frame = el(
      "div",
      { class: "list-detail", id: "inbox" },
      el("section", { class: "list", "aria-label": "Inbox" }, this.top, this.list),
      this.detail,
    );
  }

  async start() {
    const stop = await keepDrawn(
      () => this.look(),
      (event) => event.topic !== "ledger",
      PAUSE,
    );
    const keys = keymap("Inbox", {
      j: ["Next", () => this.step(1)],
      k: ["Previous", () => this.step(-1)],
      ArrowDown: ["", () => this.step(1)],
      ArrowUp: ["", () => this.step(-1)],
      a: ["Approve, accept, answer, unblock", () => this.way("a")],
      r: ["Reject, keep ours, dismiss", () => this.way("r")],
      e: ["Edit first", () => this.way("e")],
      0: ["", () => this.way("0")],
      1: ["Keep the first of two", () => this.way("1")],
      2: ["Keep the second of two", () => this.way("2")],
      h: ["Later", () => (this.later ? this.again() : this.putOff())],
      x: ["Pick it, to act on many", () => this.pick()],
      n: ["Show what is new", () => this.refresh()],
      o: ["Open its record", () => this.now && openItem(this.now)],
      Enter: ["Open its record", () => this.now && openItem(this.now)],
    });
    const closing = onEscape(() => this.close());
    this.ends = [stop, keys, closing];
  }

  end() {
    for (const end of this.ends ?? []) end();
  }

  get now() {
    return this.items.find((item) => keyOf(item) === this.chosen && !this.gone.has(this.chosen));
  }

  // Asks what waits. The first answer is the list; later ones only say what is new and what is gone.
  async look() {
    const found = await call("inbox_list", {
      later: this.later,
      kind: this.kind || undefined,
      limit: MOST,
      max_chars: 800_000,
    });
    this.found = found;
    this.known = new Map(found.items.map((item) => [keyOf(item), item]));
    if (!this.items.length) this.items = found.items;
    // What is missing was dealt with, unless the answer was too long to name everything.
    const whole = found.next_offset === null;
    for (const item of this.items)
      if (this.known.has(keyOf(item))) this.gone.delete(keyOf(item));
      else if (whole) this.gone.add(keyOf(item));
    this.items = this.items.map((item) => this.known.get(keyOf(item)) ?? item);
    setCount(this.waiting);
    if (this.first === false) this.holdHead();
    if (!this.chosen) this.chooseFirst();
    this.draw();
    if (!this.frame.isConnected) replace(this.main, this.frame);
    if (this.first !== false) this.reveal();
    this.first = false;
  }

  // How many wait, by kind: what the server said last, without what was dealt with here since.
  get counts() {
    const counts = { ...this.found?.counts };
    if (this.later) return counts;
    for (const key of this.gone) if (this.known.has(key)) counts[this.known.get(key).kind] -= 1;
    return counts;
  }

  get waiting() {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  get fresh() {
    const listed = new Set(this.items.map(keyOf));
    return [...this.known.keys()].filter((key) => !listed.has(key)).length;
  }

  chooseFirst() {
    const wanted = this.items.find((item) => item.id === this.wanted);
    if (wanted || (this.items[0] && !this.small)) this.choose(wanted ?? this.items[0], false);
  }

  get small() {
    return matchMedia("(max-width: 720px)").matches;
  }

  move(parts, query) {
    const later = address().parts[0] === "later";
    const kind = query.get("kind") ?? "";
    if (later !== this.later || kind !== this.kind) {
      Object.assign(this, {
        later,
        kind,
        items: [],
        chosen: "",
        wanted: parts[0] ?? "",
        first: true,
      });
      this.top.style.height = "";
      this.gone.clear();
      this.picked.clear();
      return this.look().catch(problemNotice);
    }
    const item = this.items.find(({ id }) => id === parts[0]);
    if (item) this.choose(item, true);
    else if (this.small && !parts.length) this.back();
  }

  // On a small screen list and detail take turns.
  back() {
    this.chosen = "";
    delete this.frame.dataset.open;
    this.draw();
  }

  // What was dealt with goes, what came in the meantime takes its place.
  refresh() {
    this.top.style.height = "";
    this.items = [...this.known.values()];
    this.gone.clear();
    if (!this.known.has(this.chosen)) {
      this.chosen = "";
      this.chooseFirst();
    }
    this.draw();
  }

  choose(item, focus = true) {
    this.chosen = keyOf(item);
    this.more = {};
    this.guard();
    this.frame.dataset.open = "";
    this.draw();
    this.reveal();
    if (focus) document.getElementById("matters")?.focus({ preventScroll: true });
    rewrite(this.place(item.id));
    const mine = this.chosen;
    moreAbout(item)
      .then((more) => {
        if (this.chosen !== mine) return;
        this.more = more;
        this.drawDetail();
      })
      .catch(problemNotice);
  }

  // The frame says for how long presses on the detail are not taken.
  guard() {
    this.frame.dataset.fresh = "";
    clearTimeout(this.calm);
    this.calm = setTimeout(() => delete this.frame.dataset.fresh, GUARD);
  }

  place(id) {
    const parts = this.later ? ["later"] : [];
    return link("inbox", ...parts, ...(id ? [id] : []), { kind: this.kind });
  }

  close() {
    if (this.picked.size) {
      this.picked.clear();
      return this.draw();
    }
    if (!this.small) return;
    this.chosen = "";
    delete this.frame.dataset.open;
    rewrite(this.place(""));
    this.draw();
  }

  reveal() {
    const row = document.getElementById("matters")?.querySelector('[aria-selected="true"]');
    row?.scrollIntoView({ block: "nearest" });
  }

  step(by) {
    const open = this.items.filter((item) => !this.gone.has(keyOf(item)));
    if (!open.length) return;
    const at = open.findIndex((item) => keyOf(item) === this.chosen);
    this.choose(open[Math.min(open.length - 1, Math.max(0, at + by))]);
  }

  pick() {
    if (!this.now) return;
    if (this.picked.has(this.chosen)) this.picked.delete(this.chosen);
    else this.picked.add(this.chosen);
    this.step(1);
  }

  // The ones that are acted on: those picked, else the chosen one.
  get meant() {
    const picked = this.items.filter(
      (item) => this.picked.has(keyOf(item)) && !this.gone.has(keyOf(item)),
    );
    return picked.length ? picked : this.now ? [this.now] : [];
  }

  async way(key) {
    const pairs = this.meant
      .map((item) => ({ item, way: waysOf(item).find((way) => way.key === key) }))
      .filter(({ way }) => way);
    if (!pairs.length) {
      if (this.now) notice(`${key} does nothing here: ${this.now.title}`);
      return;
    }
    await this.run(pairs);
  }

  async run(pairs) {
    const [{ item, way }] = pairs;
    const given = way.asks ? await askFields(way.words, way.asks(item)) : {};
    if (!given || !(await named())) return;
    const done = [];
    for (const pair of pairs) {
      try {
        const result = await pair.way.run(pair.item, given);
        done.push({ ...pair, result });
        if (!pair.way.stays) this.gone.add(keyOf(pair.item));
      } catch (problem) {
        problemNotice(problem);
      }
    }
    if (!done.length) return;
    this.said(done);
    if (!way.stays) this.advance();
  }

  said(done) {
    const [{ item, way, result }] = done;
    const what = typeof way.said === "function" ? way.said(item, result) : way.said;
    const words =
      done.length > 1
        ? `${what}: ${several(done.length, "matter")}`
        : `${what}: ${item.title.slice(0, 80)}`;
    const undone = done.filter((one) => one.way.undo);
    const undo = async () => {
      for (const one of undone.reverse()) await one.way.undo(one.item, one.result);
      this.restore(undone.map((one) => one.item));
    };
    notice(words, "info", undone.length ? undo : null);
  }

  restore(items) {
    for (const item of items) this.gone.delete(keyOf(item));
    setCount(this.waiting);
    this.choose(items[0]);
  }

  // To the next one that is still open, in place: rows above stay where they are.
  advance() {
    this.picked.clear();
    const at = this.items.findIndex((item) => keyOf(item) === this.chosen);
    const open = (item) => !this.gone.has(keyOf(item));
    const next =
      this.items.slice(at).find(open) ?? this.items.slice(0, Math.max(0, at)).findLast(open);
    setCount(this.waiting);
    if (next && !this.small) return this.choose(next);
    this.chosen = "";
    delete this.frame.dataset.open;
    rewrite(this.place(""));
    this.draw();
    document.getElementById("matters")?.focus({ preventScroll: true });
  }

  async putOff() {
    const items = this.meant;
    if (!items.length) return;
    const given = await askFields(
      "Later",
      [
        { name: "days", words: "Bring it back", options: DAYS, value: "1" },
        { name: "date", words: "Or on a day", kind: "date" },
        { name: "why", words: "What it waits for (may stay empty)" },
      ],
      "Put off",
    );
    if (!given || !(await named())) return;
    const days = given.date
      ? Math.max(1, Math.ceil((Date.parse(given.date) - Date.now()) / 86_400_000))
      : Number(given.days);
    await this.act(
      items,
      (item) => putOff(item, days, given.why),
      takeUp,
      `Until ${day(Date.now() + days * 86_400_000)}`,
    );
  }

  async again() {
    await this.act(this.meant, takeUp, null, "Taken up again");
  }

  async act(items, run, undo, words) {
    const way = { said: words, run, undo: undo ? (item) => undo(item) : null };
    const done = [];
    for (const item of items) {
      try {
        await run(item);
        done.push({ item, way });
        this.gone.add(keyOf(item));
      } catch (problem) {
        problemNotice(problem);
      }
    }
    if (!done.length) return;
    this.said(done);
    this.advance();
  }

  draw() {
    redraw(this.top, this.topParts());
    redraw(
      this.list,
      this.items.length
        ? this.items.map((item) => this.row(item))
        : el(
            "li",
            { class: "nothing", role: "option", "aria-disabled": "true", data: { key: "none" } },
            this.empty(),
          ),
    );
    this.drawDetail();
  }

  empty() {
    return this.later
      ? "Nothing is put off."
      : "Nothing waits for you. Proposals, contradictions, conflicts, questions of jobs, blocked steps, unproven work and overdue reviews would stand here.";
  }

  topParts() {
    const { later = 0, total = 0, items = [] } = this.found ?? {};
    const { counts, waiting: all } = this;
    const choice = (kind, words) =>
      el(
        "a",
        {
          class: "facet",
          href: link("inbox", { kind }),
          "aria-current": !this.later && this.kind === kind ? "true" : null,
          data: { key: `kind ${kind}` },
        },
        words,
      );
    return [
      el(
        "div",
        { class: "list-title", data: { key: "title" } },
        el("h1", {}, this.later ? "Later" : "Inbox"),
        this.freshButton(),
      ),
      el(
        "nav",
        { class: "facets", "aria-label": "Kinds", data: { key: "kinds" } },
        choice("", `All ${all}`),
        Object.entries(counts).map(([kind, count]) =>
          choice(kind, `${KIND_WORDS[kind] ?? kind} ${count}`),
        ),
        el(
          "a",
          {
            class: "facet",
            href: link("inbox", "later"),
            "aria-current": this.later ? "true" : null,
            data: { key: "later" },
          },
          `Later ${later}`,
        ),
      ),
      this.picked.size
        ? el(
            "p",
            { class: "quiet", data: { key: "picked" } },
            `${this.picked.size} picked: a, r or h acts on all of them`,
          )
        : null,
      total > items.length
        ? el(
            "p",
            { class: "quiet", data: { key: "left" } },
            `${total - items.length} more are left out; they follow when these are dealt with.`,
          )
        : null,
    ];
  }

  freshButton() {
    if (!this.fresh) return null;
    return el(
      "button",
      { type: "button", class: "small", id: "fresh", onclick: () => this.refresh() },
      `${this.fresh} new, show `,
      el("kbd", { "aria-hidden": "true" }, "n"),
    );
  }

  // News may make the head taller, with a kind that was not there before; until somebody asks for
  // what is new it keeps its height, so that no row moves under a pointer.
  holdHead() {
    if (this.top.offsetHeight) this.top.style.height = `${this.top.offsetHeight}px`;
  }

  row(item) {
    const key = keyOf(item);
    const isGone = this.gone.has(key);
    return el(
      "li",
      {
        role: "option",
        class: `matter${isGone ? " gone" : ""}${this.picked.has(key) ? " picked" : ""}`,
        "aria-selected": String(key === this.chosen && !isGone),
        "aria-disabled": isGone ? "true" : null,
        data: { key, matter: item.id },
        onclick: () => (isGone ? null : this.choose(item)),
      },
      el(
        "span",
        { class: "kind", title: KIND_WORDS[item.kind] },
        icon(KIND_ICONS[item.kind] ?? item.kind),
      ),
      el(
        "span",
        { class: "what" },
        el("span", { class: "hidden-text" }, `${KIND_WORDS[item.kind]}: `),
        el("span", { class: "words" }, item.title),
        el(
          "span",
          { class: "quiet" },
          isGone
            ? "dealt with"
            : [
                item.by ? `${item.by} · ` : "",
                item.until_ms ? `until ${day(item.until_ms)}` : ago(item.ts_ms),
              ],
        ),
      ),
    );
  }

  drawDetail() {
    const item = this.now;
    if (!item)
      return redraw(
        this.detail,
        el(
          "p",
          { class: "quiet", data: { key: "none" } },
          this.items.length ? "Choose one, or press j." : this.empty(),
        ),
      );
    redraw(this.detail, [
      el(
        "a",
        { class: "button only-small", data: { key: "back" }, href: this.place("") },
        "‹ All that waits",
      ),
      ...detailParts(item, this.more, this.buttons(item)),
    ]);
  }

  buttons(item) {
    const button = ({ key, name, words, primary = false }, run) =>
      el(
        "button",
        {
          type: "button",
          class: primary ? "primary" : "",
          data: { act: name },
          onclick: () => {
            if (!("fresh" in this.frame.dataset)) run();
          },
        },
        words,
        el("span", { class: "hidden-text" }, `: ${item.title.slice(0, 80)}`),
        " ",
        el("kbd", { "aria-hidden": "true" }, key),
      );
    const later = this.later
      ? button({ key: "h", name: "again", words: "Take up again", primary: true }, () =>
          this.again(),
        )
      : button({ key: "h", name: "later", words: "Later" }, () => this.putOff());
    const ways = this.later && item.kind === "proposal" ? [] : waysOf(item);
    return [...ways.map((way) => button(way, () => this.run([{ item, way }]))), later];
  }
}
