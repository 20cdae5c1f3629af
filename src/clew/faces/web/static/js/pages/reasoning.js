// The live graph of a thought session, next to the list of sessions and the details of one thought.

import { call, knows } from "../api.js";
import { el, replace, shorten } from "../dom.js";
import { STATUS } from "../facts.js";
import { cameraTools } from "../graph/camera.js";
import { Detail } from "../graph/detail.js";
import { sessionFigures } from "../graph/figures.js";
import { KINDS } from "../graph/kinds.js";
import { SessionModel } from "../graph/model.js";
import { Openings } from "../graph/openings.js";
import { Outline } from "../graph/outline.js";
import { SessionList } from "../graph/sessions.js";
import { GraphView } from "../graph/view.js";
import { keymap, withKey } from "../keys.js";
import { notice } from "../notices.js";
import { several } from "../parts.js";
import { go, link, objectLink, rewrite } from "../router.js";
import { feed } from "../socket.js";

const OPENING = 400,
  HITS = 500;
const ROOM = 4_000_000;
const STEP = 350;
// An active session is opened at its newest thought, unless all of it is visible anyway.
const LONG = 15;
const SPEEDS = [1, 4, 16];

// The last part of the address is a thought, or a moment: @12 is the picture after twelve thoughts.
export async function show(main, [sessionId, wanted]) {
  if (!knows("session_list")) return empty(main, "This Clew keeps no thought sessions.");
  const page = new ReasoningPage(main, sessionId, wanted);
  await page.start();
  return () => page.end();
}

function empty(main, text) {
  replace(main, el("section.empty", el("h1", "Reasoning"), el("p", text)));
}

class ReasoningPage {
  constructor(main, sessionId, wanted) {
    this.main = main;
    this.sessionId = sessionId;
    this.wanted = wanted;
    this.ends = [];
    this.held = [];
  }

  async start() {
    const found = await call("session_list", { limit: 100, max_chars: 200_000 });
    if (!found.sessions.length && !this.sessionId) return this.#waitForTheFirst();
    if (!this.sessionId) return go("now", "session", found.sessions[0].id);
    this.#draw();
    this.sessions.show(found);
    this.ends.push(
      feed.on("reasoning", (event, data) => this.#heard(event, data), {
        sessionId: this.sessionId,
        outline: true,
      }),
    );
    const heard = (event, data) => this.sessions.heard(event, data);
    this.ends.push(feed.on("sessions", heard, { outline: true }));
  }

  end() {
    for (const end of this.ends) end();
    this.#pause();
    this.keys?.();
    this.detail?.end();
    this.sessions?.close();
    this.view?.close();
  }

  #waitForTheFirst() {
    empty(this.main, "No session yet. The first thought that any agent writes appears here by itself.");
    this.ends.push(
      feed.on("events", (event, data) => {
        if (event === "session_started") go("now", "session", data.subject);
      }),
    );
  }

  #draw() {
    this.model = new SessionModel({ id: this.sessionId, title: "…", status: "" });
    this.view = new GraphView(this.model, this.#openings(this.model), {
      onSelect: (id, byKey) => this.#select(id, false, byKey),
      onDraw: () => this.#count(),
    });
    this.detail = new Detail({
      onOpen: (id) => this.#select(id, true),
      onClose: () => this.#unselect(),
    });
    this.sessions = new SessionList(this.sessionId);
    this.outline = new Outline(
      () => this.model,
      () => this.openings,
      (id) => this.#select(id),
    );
    this.keys = keymap("Session", {
      " ": ["play or pause", (event) => this.#toggle(event)],
      o: ["outline or graph", () => this.#turn()],
    });
    this.title = el("h1.title", { dir: "auto" }, "…");
    this.facts = el("p#facts.quiet");
    replace(
      this.main,
      el(
        "div.reasoning",
        this.sessions.element,
        el(
          "section.stage",
          el(
            "div.stage-head",
            el(
              "div.about",
              this.title,
              this.facts,
              sessionFigures(
                () => this.model,
                (id) => this.#select(id, true),
              ),
            ),
            this.#tools(),
          ),
          this.view.frame,
          this.outline.element,
          this.#time(),
          legend(),
        ),
        this.detail.element,
      ),
    );
  }

  #tools() {
    const search = el("input#find", {
      type: "search",
      placeholder: withKey("Find in this session", "/"),
      data: { search: "" },
      "aria-label": "Find in this session",
      oninput: () => this.#find(search.value),
      onkeydown: (event) => {
        if (event.key === "Enter") this.#nextHit(event.shiftKey ? -1 : 1);
      },
    });
    this.hits = [];
    this.found = el("output#found.quiet", { for: "find" });
    const button = (label, title, run) => el("button.icon", { title, "aria-label": title, onclick: run }, label);
    return el(
      "div.graph-tools",
      search,
      this.found,
      el(
        "button#turn.small",
        { title: "Outline (o)", "aria-pressed": "false", onclick: () => this.#turn() },
        "Outline",
      ),
      el("a#as-record.button.small", { href: objectLink(this.sessionId) }, "Export"),
      cameraTools(this.view.camera, () => this.view.fit()),
      button("⇥", "Newest thought", () => this.#newest()),
    );
  }

  #time() {
    this.slider = el("input#time", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Moment",
      oninput: () => this.#scrub(),
    });
    this.moment = el("output#moment", { for: "time" }, "live");
    this.player = el("button#play.small", { onclick: () => this.#toggle() }, "play");
    this.speed = el(
      "select#speed",
      { "aria-label": "Speed", onchange: () => this.playing && this.#play() },
      SPEEDS.map((times) => el("option", { value: times }, `${times}×`)),
    );
    return el(
      "div.time",
      el("label", { for: "time" }, "Time"),
      this.slider,
      this.moment,
      this.player,
      this.speed,
      el("button#live.small", { onclick: () => this.#live() }, "live"),
    );
  }

  #openings(model) {
    const load = async (cursor, limit) =>
      (
        await call("session_outline", {
          sessionId: this.sessionId,
          cursor,
          limit,
          chars: OPENING,
          max_chars: ROOM,
        })
      ).thoughts;
    return new Openings(model, load, () => {
      this.view.schedule();
      this.outline?.soon();
    });
  }

  #heard(event, data) {
    if (event === "error") return this.#missing(data.message);
    if (event === "subscribed") this.held = [];
    else if (event === "session:outline") this.#load(data);
    else if (this.incoming || !this.loaded) this.held.push([event, data]);
    else this.#happened(event, data);
  }

  // The list stays, so that another session can be chosen.
  #missing(message) {
    this.isMissing = true;
    this.#name("There is no such session here");
    this.facts.textContent = message;
    this.view.frame.hidden = true;
  }

  // The session is loaded in parts and shown when it is complete; events meanwhile are queued.
  #load({ session, thoughts, branchNames, first, last }) {
    if (first) this.incoming = new SessionModel(session);
    if (!this.incoming) return;
    for (const [branch, name] of Object.entries(branchNames)) this.incoming.names.set(branch, name);
    for (const thought of thoughts) this.incoming.add(thought);
    if (last) this.#loadedWhole();
  }

  #loadedWhole() {
    const isFirst = !this.loaded;
    this.model = this.incoming;
    this.incoming = null;
    this.loaded = true;
    this.openings = this.#openings(this.model);
    this.view.use(this.model, this.openings);
    this.#name(this.model.session.title);
    for (const [event, data] of this.held.splice(0)) this.#happened(event, data);
    if (isFirst) this.#arrive();
  }

  #arrive() {
    const moment = this.wanted?.match(/^@(\d+)$/);
    if (moment) return this.#goTo(Number(moment[1]));
    if (this.wanted && this.model.find(this.wanted)) return this.#select(this.wanted, true);
    if (this.model.session.status === STATUS.ACTIVE && this.model.length > LONG) this.#newest();
  }

  #happened(event, data) {
    if (event.startsWith("thought:")) return this.#added(data.thought);
    const { session } = this.model;
    if (event === "session:ended") session.status = STATUS.COMPLETED;
    if (data.event === "session_reopened") session.status = STATUS.ACTIVE;
    if (data.event === "session_changed") this.#name(data.title);
    if (data.event === "session_deleted") notice("This session was deleted; what was thought stays on the screen.");
    if (data.event === "thought_critiqued")
      this.#critiqued(this.model.find(this.model.id(data.thoughtNumber, data.branchId)));
    this.view.schedule();
  }

  #added(thought) {
    const record = this.model.add(thought);
    if (!record) return;
    this.openings.put(record.index, thought);
    this.view.added(record);
    this.outline.soon();
  }

  #critiqued(record) {
    if (!record) return;
    record.critique = true;
    this.view.nodes.critiqued(record.id);
    if (this.detail.record === record) this.detail.show(this.model, this.openings, record);
  }

  #name(title) {
    this.title.textContent = shorten(title || "Reasoning without a title", 120);
  }

  // After each drawing, so that a burst of thoughts is counted once.
  #count() {
    if (this.isMissing) return;
    const { length, branches, revisions, session } = this.model;
    const facts = [
      several(length, "thought"),
      several(branches, "branch", "branches"),
      several(revisions, "revision"),
      // Activity is shown by the dot of the list, which turns grey with time.
      session.status === STATUS.ACTIVE ? "" : session.status,
    ]
      .filter(Boolean)
      .join(" · ");
    if (this.facts.textContent !== facts) this.facts.textContent = facts;
    if (this.slider.max !== String(length)) this.slider.max = length;
    if (this.view.count === null) this.slider.value = length;
    this.#tellMoment();
  }

  #tellMoment() {
    const { count } = this.view,
      at = this.model.order[count - 1]?.at;
    const when = at ? ` · ${new Date(at).toLocaleTimeString()}` : "";
    const text = count === null ? "live" : `after ${count} of ${this.model.length}${when}`;
    if (this.moment.textContent !== text) this.moment.textContent = text;
  }

  #scrub() {
    this.#pause();
    this.#goTo(Number(this.slider.value));
  }

  #goTo(count) {
    const isLast = count >= this.model.length;
    this.view.scrub(isLast ? null : count);
    this.slider.max = this.model.length;
    this.slider.value = count;
    if (!isLast && count) this.view.reveal(this.model.order[count - 1]);
    rewrite(link("now", "session", this.sessionId, ...(isLast ? [] : [`@${count}`])));
  }

  #live() {
    this.#pause();
    this.#goTo(this.model.length);
  }

  // From the moment on the slider, or from the beginning, thought by thought, none left out on a
  // slow machine.
  #play() {
    this.#pause();
    if (this.view.count === null) this.#goTo(0);
    this.player.textContent = "pause";
    this.playing = setInterval(() => {
      if (!this.view.isTold) return;
      this.#goTo(this.view.count + 1);
      if (this.view.count === null) this.#pause();
    }, STEP / Number(this.speed.value));
  }

  #pause() {
    clearInterval(this.playing);
    this.playing = 0;
    if (this.player) this.player.textContent = "play";
  }

  // The space bar on a thought opens the thought.
  #toggle(event) {
    if (event?.target.closest?.(".node")) return false;
    if (this.playing) this.#pause();
    else this.#play();
    return true;
  }

  // Between the graph and the same thoughts as a list.
  #turn() {
    const isList = !this.outline.isShown;
    this.view.frame.hidden = isList;
    document.getElementById("turn")?.setAttribute("aria-pressed", String(isList));
    this.outline.toggle(isList);
  }

  #newest() {
    const last = this.model.order.at(-1);
    if (last) this.view.show(last.id);
  }

  // The server searches the whole texts; the page has only their openings.
  async #find(words) {
    const wanted = words.trim();
    this.finding = wanted;
    const found = wanted
      ? await call("session_outline", {
          sessionId: this.sessionId,
          find: wanted,
          limit: HITS,
          max_chars: ROOM,
        })
      : { thoughts: [] };
    if (this.finding !== wanted) return;
    const hits = found.thoughts
      .map((thought) => this.model.id(thought.thoughtNumber, thought.branchId))
      .filter((id) => this.model.find(id));
    this.view.mark(hits);
    this.hits = hits;
    this.hit = 0;
    this.more = found.pagination?.has_more ? "+" : "";
    if (hits.length) this.view.show(hits[0]);
    this.#tellHits(wanted);
  }

  #nextHit(by) {
    if (!this.hits.length) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    this.view.show(this.hits[this.hit]);
    this.#tellHits(this.finding);
  }

  #tellHits(wanted) {
    const { length } = this.hits;
    this.found.textContent = !wanted ? "" : length ? `${this.hit + 1} of ${length}${this.more}` : "none";
  }

  #select(id, center = false, byKey = false) {
    const record = this.model.find(id);
    if (!record) return;
    this.view.select(id);
    if (center) this.view.show(id);
    rewrite(link("now", "session", this.sessionId, id));
    this.detail.show(this.model, this.openings, record, byKey).catch((problem) => notice(problem.message, "bad"));
  }

  #unselect() {
    const was = this.view.selected;
    this.view.select(null);
    if (!this.outline.isShown && !(was && this.view.nodes.focus(was))) this.view.frame.focus();
    rewrite(link("now", "session", this.sessionId));
  }
}

function legend() {
  return el(
    "ul.legend",
    { "aria-label": "Kinds of thoughts" },
    Object.entries(KINDS).map(([letter, name]) => el("li", el("span", { class: `chip kind-${letter}` }, letter), name)),
  );
}
