// The Inbox: everything that waits for a person, in one list with one detail and one set of keys.
// Listed items keep their position: new ones wait behind a button, items that others decided are
// marked in place, so nothing changes under a pointer.

import { call, recorded } from "../api.js";
import { setCount } from "../bar.js";
import { ago, day, el, replace, shorten } from "../dom.js";
import { askFields } from "../forms.js";
import { detailParts, isLooked, KIND_ICONS, KIND_WORDS, moreAbout } from "../inbox/detail.js";
import { settledParts } from "../inbox/settled.js";
import { DAYS, openItem, putOff, takeUp, waysOf } from "../inbox/ways.js";
import { keymap, onEscape } from "../keys.js";
import { icon } from "../kinds.js";
import { keepDrawn } from "../news.js";
import { notice } from "../notices.js";
import { problemNotice, several, undoOf } from "../parts.js";
import { byWords, named } from "../people.js";
import { redraw } from "../redraw.js";
import { address, link, rewrite } from "../router.js";

const MOST = 200,
  PAUSE = 1200;
// A click right after the detail changed was meant for its former content.
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
    this.ready = false;
    this.busy = false;
    this.calm = 0;
    this.list = el("ul#matters.rows", {
      role: "listbox",
      "aria-label": "What needs you",
      tabindex: "0",
      data: { scroll: "matters" },
    });
    this.detail = el("article#matter.detail", { "aria-label": "The chosen one", data: { scroll: "matter" } });
    this.ways = el("footer#ways.ways", { "aria-label": "What can be answered" });
    this.top = el("header.list-top");
    this.frame = el(
      "div#inbox.list-detail",
      el("section.list", { "aria-label": "Inbox" }, this.top, this.list),
      el("div.detail-frame", this.detail, this.ways),
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
      r: ["Reject or dismiss, after asking why", () => this.way("r")],
      e: ["Edit first", () => this.way("e")],
      1: ["Keep the old one of two", () => this.way("1")],
      2: ["Replace it by the new one", () => this.way("2")],
      3: ["Both hold", () => this.way("3")],
      0: ["Neither holds", () => this.way("0")],
      q: ["Ask the agent", () => this.way("q")],
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

  // Loads the pending items. The first response is the list; later ones give new and removed items.
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
    // A missing item was decided, unless the response was truncated.
    const whole = found.next_offset === null;
    for (const item of this.items)
      if (this.known.has(keyOf(item))) this.gone.delete(keyOf(item));
      else if (whole) this.gone.add(keyOf(item));
    this.items = this.items.map((item) => this.known.get(keyOf(item)) ?? item);
    setCount(this.waiting);
    if (this.first === false) this.holdHead();
    if (this.more.threads?.length) this.lookAgain();
    if (!this.chosen) this.chooseFirst();
    this.draw();
    if (!this.frame.isConnected) replace(this.main, this.frame);
    if (this.first !== false) this.reveal();
    this.first = false;
  }

  // The number of pending items by kind: from the last response, without those decided here since.
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

  // The item of the address, even if the Inbox lists it under another id. A decided item is shown
  // as decided: no other one replaces it, and no key acts on another item.
  chooseFirst() {
    if (this.wanted) {
      const wanted = this.named(this.wanted);
      if (wanted) return this.choose(wanted, false);
      this.settled ??= this.wanted;
      return this.showSettled();
    }
    if (this.items[0] && !this.small) this.choose(this.items[0], false);
  }

  named(id) {
    const belongs = ({ covers = [], newer, older = [] }) =>
      covers.includes(id) || newer === id || older.some((side) => side.id === id);
    return this.items.find((item) => item.id === id) ?? this.items.find((item) => belongs(item.facts));
  }

  async showSettled() {
    const id = this.settled;
    const parts = await settledParts(id, () => this.look().then(() => this.refresh()));
    if (this.settled !== id || this.chosen) return;
    this.frame.dataset.open = "";
    this.settledPart = parts;
    this.draw();
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
        settled: null,
        first: true,
      });
      this.top.style.height = "";
      this.gone.clear();
      this.picked.clear();
      return this.look().catch(problemNotice);
    }
    const item = parts[0] && this.named(parts[0]);
    if (item) return this.choose(item, true);
    if (!parts[0]) return this.small ? this.back() : undefined;
    Object.assign(this, { chosen: "", settled: parts[0], settledPart: null });
    return this.showSettled();
  }

  // On a small screen list and detail take turns.
  back() {
    this.chosen = "";
    delete this.frame.dataset.open;
    this.draw();
  }

  // Removes decided items and inserts new ones.
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
    this.settled = null;
    this.wanted = "";
    this.more = {};
    this.ready = !isLooked(item);
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
        this.ready = true;
        this.drawDetail();
      })
      .catch(problemNotice);
  }

  // Reloads the data of the selected item: a question or an answer was added.
  async lookAgain() {
    const { now, chosen } = this;
    if (!now) return;
    const more = await moreAbout(now);
    if (this.chosen !== chosen) return;
    this.more = more;
    this.drawDetail();
  }

  // The frame shows for how long clicks on the detail are ignored.
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
    this.toggle(this.now);
    this.step(1);
  }

  toggle(item) {
    const key = keyOf(item);
    if (!this.picked.delete(key)) this.picked.add(key);
    this.draw();
  }

  // The items that an action applies to: those picked, else the selected one.
  get meant() {
    const picked = this.items.filter((item) => this.picked.has(keyOf(item)) && !this.gone.has(keyOf(item)));
    return picked.length ? picked : this.now ? [this.now] : [];
  }

  // Runs the action of a key or button for all items that it applies to.
  pairsOf(choose) {
    const many = this.meant.length > 1;
    return this.meant
      .map((item) => ({ item, way: choose(waysOf(item, many ? null : this.more.view)) }))
      .filter(({ way }) => way && !(many && way.alone));
  }

  async way(key) {
    if (!this.meant.length) return;
    if (this.meant.length === 1 && !this.ready) return void notice("Still loading. Try again in a moment.");
    const pairs = this.pairsOf((ways) => ways.find((way) => way.key === key));
    if (pairs.length) return this.run(pairs);
    const [item] = this.meant;
    const keys = waysOf(item, this.more.view).map((way) => `${way.key}: ${way.words}`);
    notice(`${key} does nothing here. ${keys.join(" · ")}`);
  }

  async run(pairs) {
    if (this.busy) return;
    this.busy = true;
    try {
      const [{ item, way }] = pairs;
      const send = async (given) => (await named()) && this.answer(pairs, given);
      const title = pairs.length > 1 ? `${way.words}: ${several(pairs.length, "item")}` : way.words;
      const lead = pairs.length > 1 || way.alone ? null : el("p", item.title);
      if (way.asks)
        await askFields(title, way.asks(item), {
          doIt: way.doIt ?? way.words,
          send,
          lead,
          key: `${way.name} ${item.id}`,
        });
      else await send({});
    } catch (problem) {
      problemNotice(problem);
    } finally {
      this.busy = false;
    }
  }

  // The refusal of a single item is shown in its form; of many items the others continue.
  async answer(pairs, given) {
    const done = [];
    for (const pair of pairs) {
      try {
        const { result, events } = await recorded(() => pair.way.run(pair.item, given));
        done.push({ ...pair, result, events });
        if (!pair.way.stays) this.gone.add(keyOf(pair.item));
      } catch (problem) {
        if (pairs.length === 1) throw problem;
        problemNotice(problem);
      }
    }
    if (!done.length) return true;
    this.said(done);
    if (pairs[0].way.stays) this.lookAgain();
    else this.advance();
    return true;
  }

  said(done) {
    const [{ item, way, result }] = done;
    const what = typeof way.said === "function" ? way.said(item, result) : way.said;
    const words = done.length > 1 ? `${what}: ${several(done.length, "item")}` : `${what}: ${item.title}`;
    const backs = done
      .map(({ item, way: { undo, final }, result, events }) => ({
        item,
        back: undoOf(result, events, final ? null : undo && ((own) => undo(item, own))),
      }))
      .filter(({ back }) => back);
    const undo = async () => {
      for (const { back } of backs.toReversed()) await back();
      this.restore(backs.map(({ item }) => item));
    };
    notice(words, "info", backs.length ? undo : null);
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
    const next = this.items.slice(at).find(open) ?? this.items.slice(0, Math.max(0, at)).findLast(open);
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
        { name: "why", words: "What it waits for (optional)" },
      ],
      { doIt: "Put off" },
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
    const way = { said: words, run, undo };
    const done = [];
    for (const item of items) {
      try {
        await run(item);
        done.push({ item, way, events: [] });
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
        : el("li.nothing", { role: "option", "aria-disabled": "true", key: "none" }, this.empty()),
    );
    this.drawDetail();
  }

  empty() {
    return this.later
      ? "Nothing is put off."
      : "You're all caught up. Proposals, contradictions and questions from agents appear here.";
  }

  topParts() {
    const { later = 0, total = 0, items = [] } = this.found ?? {};
    const { counts, waiting: all } = this;
    const choice = (kind, words) =>
      el(
        "a.facet",
        {
          href: link("inbox", { kind }),
          "aria-current": !this.later && this.kind === kind ? "true" : null,
          key: `kind ${kind}`,
        },
        words,
      );
    return [
      el("div.list-title", { key: "title" }, el("h1", this.later ? "Later" : "Inbox"), this.freshButton()),
      el(
        "nav.facets",
        { "aria-label": "Kinds", key: "kinds" },
        choice("", `All ${all}`),
        Object.entries(counts).map(([kind, count]) => choice(kind, `${KIND_WORDS[kind] ?? kind} ${count}`)),
        el(
          "a.facet",
          { href: link("inbox", "later"), "aria-current": this.later ? "true" : null, key: "later" },
          `Later ${later}`,
        ),
      ),
      total > items.length
        ? el(
            "p.quiet",
            { key: "left" },
            `${total - items.length} more are left out; they follow when these are dealt with.`,
          )
        : null,
    ];
  }

  freshButton() {
    if (!this.fresh) return null;
    return el(
      "button#fresh.small",
      { onclick: () => this.refresh() },
      `${this.fresh} new, show `,
      el("kbd", { "aria-hidden": "true" }, "n"),
    );
  }

  // New items may make the header taller, with a new kind; it keeps its height until they are
  // shown, so that no row moves under a pointer.
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
        key,
        data: { matter: item.id },
        onclick: () => (isGone ? null : this.choose(item)),
      },
      el("span.pick", {
        title: "Select it, to answer several at once (x)",
        data: { pick: item.id },
        onclick: (event) => {
          event.stopPropagation();
          if (!isGone) this.toggle(item);
        },
      }),
      el("span.kind", { title: KIND_WORDS[item.kind] }, icon(KIND_ICONS[item.kind] ?? item.kind)),
      el(
        "span.what",
        el("span.hidden-text", `${KIND_WORDS[item.kind]}: `),
        el("span.words", item.title),
        el(
          "span.quiet",
          isGone
            ? "dealt with"
            : [
                item.by ? `${byWords(item.by)} · ` : "",
                item.until_ms ? `until ${day(item.until_ms)}` : ago(item.ts_ms),
                contextOf(item),
              ],
        ),
      ),
    );
  }

  drawDetail() {
    const { meant } = this;
    this.ways.hidden = !meant.length;
    if (meant.length) redraw(this.ways, this.buttons());
    if (meant.length > 1 || this.picked.size) return redraw(this.detail, this.pickedParts());
    const item = this.now;
    if (item) return redraw(this.detail, [this.backLink(), ...detailParts(item, this.more, this.ready)]);
    if (this.settled) return redraw(this.detail, [this.backLink(), this.settledPart]);
    const words = this.items.length ? "Choose one, or press j." : this.empty();
    redraw(this.detail, el("p.quiet", { key: "none" }, words));
  }

  backLink() {
    return el("a.button.only-small", { key: "back", href: this.place("") }, "‹ Inbox");
  }

  // Lists the picked items, so that no action applies to one that is not visible.
  pickedParts() {
    const { meant } = this;
    return [
      el("h2.record-title", { key: "head" }, `${several(meant.length, "item")} selected`),
      el(
        "ul#picked.plain",
        { key: "list" },
        meant.map((item) =>
          el(
            "li",
            { key: keyOf(item) },
            el("span.kind", icon(KIND_ICONS[item.kind] ?? item.kind)),
            el("span", item.title),
            item.kind === "contradiction" ? el("span.quiet", "contradicts something: open it to decide") : null,
          ),
        ),
      ),
    ];
  }

  buttons() {
    const { meant } = this;
    const many = meant.length > 1;
    const [item] = meant;
    const named = new Map();
    for (const one of meant)
      for (const way of waysOf(one, many ? null : this.more.view)) if (!(many && way.alone)) named.set(way.name, way);
    const ways = this.later && item.id.startsWith("P-") ? [] : [...named.values()];
    const label = many ? several(meant.length, "item") : item.title;
    const reach = (name) => this.pairsOf((ones) => ones.find((one) => one.name === name)).length;
    const button = ({ key, name, words, primary = false }, run) =>
      el(
        "button",
        {
          class: primary ? "primary" : "",
          key: name,
          data: { act: name },
          "aria-disabled": many || this.ready ? null : "true",
          onclick: () => {
            if (!("fresh" in this.frame.dataset) && (many || this.ready)) run();
          },
        },
        many && name !== "later" && name !== "again" ? `${words} ${reach(name)}` : words,
        el("span.hidden-text", `: ${label}`),
        " ",
        el("kbd", { "aria-hidden": "true" }, key),
      );
    const act = (way) => () => {
      const pairs = this.pairsOf((ones) => ones.find(({ name }) => name === way.name));
      if (pairs.length) this.run(pairs);
    };
    return [
      ...ways.map((way) => button(way, act(way))),
      this.later
        ? button({ key: "h", name: "again", words: "Bring back now", primary: true }, () => this.again())
        : button({ key: "h", name: "later", words: "Later" }, () => this.putOff()),
      many || this.picked.size
        ? el(
            "button",
            {
              key: "clear",
              data: { act: "clear" },
              onclick: () => {
                this.picked.clear();
                this.draw();
              },
            },
            "Clear selection ",
            el("kbd", { "aria-hidden": "true" }, "Esc"),
          )
        : null,
    ];
  }
}

// Distinguishes rows with similar titles: the task of unproven work, the other side of a
// contradiction.
function contextOf(item) {
  const [other] = item.facts.older ?? [];
  if (other) return ` · against “${shorten(other.title, 60)}”`;
  const task = ["proof", "step"].includes(item.kind) && item.about.find(({ kind }) => kind === "task");
  if (task) return ` · ${shorten(task.title, 60)}`;
  return item.kind === "job" && item.note ? ` · ${shorten(item.note, 90)}` : "";
}
