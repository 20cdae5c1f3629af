// The live graph of a thought session, beside the list of sessions and the details of one thought.

import { ago, append, copyButton, el, notice, replace, shorten } from "../dom.js";
import { call, knows, tryCall } from "../api.js";
import { feed } from "../socket.js";
import { go, link } from "../router.js";
import { SessionModel } from "../graph/model.js";
import { GraphView } from "../graph/view.js";
import { kindOf, KINDS, plainText } from "../graph/kinds.js";

export async function show(main, [sessionId, thoughtId]) {
  if (!knows("session_list")) return empty(main, "This Clew keeps no thought sessions.");
  const page = new ReasoningPage(main, sessionId, thoughtId);
  await page.start();
  return () => page.end();
}

function empty(main, text) {
  replace(main, el("section", { class: "empty" }, el("h1", {}, "Reasoning"), el("p", {}, text)));
}

class ReasoningPage {
  constructor(main, sessionId, thoughtId) {
    this.main = main;
    this.sessionId = sessionId;
    this.wanted = thoughtId;
    this.model = new SessionModel();
    this.ends = [];
  }

  async start() {
    const found = await call("session_list", { limit: 100 });
    this.sessions = found.sessions;
    if (!this.sessions.length) return this.#waitForTheFirst();
    if (!this.sessionId) return go("reasoning", this.sessions[0].id);
    this.#draw();
    this.ends.push(feed.on("reasoning", (event, data) => this.#heard(event, data), this.sessionId));
    this.ends.push(feed.on("sessions", (event, data) => this.#sessionsChanged(event, data)));
  }

  end() {
    for (const end of this.ends) end();
    this.view?.close();
  }

  #waitForTheFirst() {
    empty(this.main, "No session yet. The first thought that any agent writes appears here by itself.");
    this.ends.push(feed.on("events", (event) => { if (event === "session_started") this.start(); }));
  }

  #draw() {
    this.view = new GraphView(this.model, { onSelect: (id) => this.#select(id) });
    this.list = el("ul", { class: "sessions", id: "sessions" });
    this.detail = el("aside", { class: "detail", id: "detail", "aria-label": "Details", hidden: true });
    this.slider = el("input", { type: "range", id: "time", min: 0, max: 0, value: 0, "aria-label": "Moment", oninput: () => this.#scrub() });
    this.moment = el("output", { for: "time", id: "moment" }, "live");
    this.title = el("h1", { class: "title" }, "…");
    this.facts = el("p", { class: "quiet", id: "facts" });
    const search = el("input", { type: "search", id: "find", placeholder: "Find in this session ( / )", "aria-label": "Find in this session", oninput: () => this.#find(search.value) });
    const filter = el("input", { type: "search", id: "filter", placeholder: "Filter sessions", "aria-label": "Filter sessions", oninput: () => this.#drawList(filter.value) });
    const button = (label, title, run) => el("button", { type: "button", class: "icon", title, "aria-label": title, onclick: run }, label);
    const tools = el("div", { class: "graph-tools" }, search,
      button("−", "Zoom out (-)", () => this.view.camera.zoom(1 / 1.25)), button("+", "Zoom in (+)", () => this.view.camera.zoom(1.25)),
      button("⤢", "Show all (0)", () => this.view.fit()), button("⇥", "Newest thought", () => this.#newest()));
    const time = el("div", { class: "time" }, el("label", { for: "time" }, "Time"), this.slider, this.moment,
      el("button", { type: "button", class: "small", id: "live", onclick: () => this.#live() }, "live"));
    replace(this.main, el("div", { class: "reasoning" },
      el("section", { class: "side", "aria-label": "Sessions" }, filter, this.list),
      el("section", { class: "stage" }, el("div", { class: "stage-head" }, el("div", {}, this.title, this.facts), tools), this.view.frame, time, legend()),
      this.detail));
    this.#drawList("");
  }

  #drawList(words) {
    const wanted = words.trim().toLowerCase();
    const shown = this.sessions.filter((item) => !wanted || `${item.title} ${item.tags.join(" ")}`.toLowerCase().includes(wanted));
    replace(this.list, shown.map((item) => el("li", {},
      el("a", { href: link("reasoning", item.id), "aria-current": item.id === this.sessionId ? "true" : null, data: { session: item.id } },
        el("strong", {}, shorten(item.title || "Untitled", 70)),
        el("span", { class: "quiet" }, `${item.thoughtCount} thought${item.thoughtCount === 1 ? "" : "s"} · `, ago(item.updatedAt)),
        el("span", { class: `dot ${item.status}`, title: item.status })))));
  }

  #heard(event, data) {
    if (event === "session:snapshot") return this.#load(data);
    if (data.sessionId !== this.sessionId || !this.model.session) return;
    if (event.startsWith("thought:")) this.#added(data);
    else if (event === "session:ended") this.facts.append(" · completed");
  }

  #load(snapshot) {
    this.model.load(snapshot);
    this.title.textContent = shorten(this.model.session.title || "Untitled session", 120);
    this.#count();
    this.view.arrange();
    if (this.wanted && this.model.thoughts.has(this.wanted)) this.#select(this.wanted, true);
    else if (this.model.length > 400) this.#newest();
    else this.view.camera.onMove();
  }

  #added({ thought, branchId }) {
    if (!this.model.add(thought)) return;
    if (branchId) this.model.names.set(branchId, this.model.names.get(branchId) ?? branchId);
    this.#count();
    this.view.added(thought);
  }

  #count() {
    const branches = this.model.chains.size - (this.model.chains.has("") ? 1 : 0);
    const revisions = this.model.order.filter((thought) => thought.isRevision).length;
    replace(this.facts, `${this.model.length} thoughts · ${branches} branches · ${revisions} revisions · ${this.model.session.status}`);
    const following = this.view.count === null;
    this.slider.max = this.model.length;
    if (following) this.slider.value = this.model.length;
  }

  #scrub() {
    const count = Number(this.slider.value);
    const last = count >= this.model.length;
    this.view.scrub(last ? null : count);
    this.moment.textContent = last ? "live" : `after ${count} of ${this.model.length}`;
  }

  #live() {
    this.slider.value = this.model.length;
    this.#scrub();
  }

  #newest() {
    const last = this.model.order.at(-1);
    if (last) this.view.show(last.id);
  }

  #find(words) {
    const wanted = words.trim().toLowerCase();
    const hits = wanted ? this.model.order.filter((thought) => thought.thought.toLowerCase().includes(wanted)) : [];
    this.view.mark(hits.map((thought) => thought.id));
    if (hits.length) this.view.show(hits[0].id);
    else if (wanted) notice("No thought holds these words");
  }

  async #select(id, center = false) {
    const thought = this.model.thoughts.get(id);
    if (!thought) return;
    this.view.select(id);
    if (center) this.view.show(id);
    history.replaceState(null, "", link("reasoning", this.sessionId, id));
    this.detail.hidden = false;
    replace(this.detail, this.#about(thought));
    this.detail.querySelector("button.close").focus({ preventScroll: true });
    const analysis = await tryCall("session_analyze", { sessionId: this.sessionId });
    if (analysis && this.view.selected === id) append(this.detail, [figures(analysis)]);
  }

  #about(thought) {
    const kind = kindOf(thought);
    const close = () => { this.detail.hidden = true; this.view.select(null); this.view.frame.focus(); };
    const reference = (id) => el("button", { type: "button", class: "link", onclick: () => this.#select(id, true) }, this.#label(id));
    const links = [];
    const revised = this.model.revised(thought);
    if (revised) links.push(el("li", {}, "revises ", reference(revised)));
    for (const other of this.model.order) if (this.model.revised(other) === thought.id) links.push(el("li", {}, "revised by ", reference(other.id)));
    for (const chain of this.model.chains.keys()) if (chain && this.model.origin(chain) === thought.id) {
      links.push(el("li", {}, `branch ${shorten(this.model.name(chain), 40)} starts here: `, reference(this.model.chains.get(chain)[0].id)));
    }
    for (const number of mentioned(thought)) {
      const id = [this.model.id(number, thought.branchId), this.model.id(number)].find((name) => this.model.thoughts.has(name));
      if (id && id !== thought.id && id !== revised) links.push(el("li", {}, "refers to ", reference(id)));
    }
    return [
      el("header", {}, el("h2", {}, `Thought ${thought.thoughtNumber}`, thought.branchId ? ` on ${shorten(this.model.name(thought.branchId), 40)}` : ""),
        el("button", { type: "button", class: "icon close", "aria-label": "Close", onclick: close }, "×")),
      el("p", { class: "quiet" }, kind ? el("span", { class: `chip kind-${kind}` }, `${kind} ${KINDS[kind]}`) : null, " ", ago(thought.timestamp), thought.agent ? ` · ${thought.agent}` : ""),
      el("pre", { class: "text" }, thought.thought),
      links.length ? el("ul", { class: "references" }, links) : null,
      thought.critique ? el("section", {}, el("h3", {}, "Critique"), el("p", { class: "quiet" }, `${thought.critique.status ?? ""} ${thought.critique.model ?? ""}`),
        el("pre", { class: "text" }, thought.critique.text ?? thought.critique.reason ?? "")) : null,
      el("p", {}, copyButton(thought.id, "copy id"), " ", copyButton(thought.thought, "copy text")),
    ];
  }

  #label(id) {
    const thought = this.model.thoughts.get(id);
    return thought ? `${thought.branchId ? this.model.name(thought.branchId) + " " : ""}${thought.thoughtNumber}: ${shorten(plainText(thought), 40)}` : id;
  }

  async #sessionsChanged(event, data) {
    if (event === "sessions:list") {
      this.sessions = data.sessions;
    } else if (event.startsWith("thought:")) {
      const known = this.sessions.find((item) => item.id === data.sessionId);
      if (known) { known.thoughtCount += 1; known.updatedAt = new Date().toISOString(); }
    } else {
      this.sessions = (await call("session_list", { limit: 100 })).sessions;
    }
    clearTimeout(this.listing);
    this.listing = setTimeout(() => this.#drawList(document.getElementById("filter")?.value ?? ""), 250);
  }
}

// Numbers that a thought names in the cipher, such as [S3] or S12.
function mentioned(thought) {
  const own = `S${thought.thoughtNumber}`;
  const names = String(thought.thought).slice(0, 20_000).match(/\bS(\d+)\b/g) ?? [];
  return [...new Set(names.filter((name) => name !== own).map((name) => Number(name.slice(1))))].slice(0, 30);
}

function legend() {
  return el("ul", { class: "legend", "aria-label": "Kinds of thoughts" },
    Object.entries(KINDS).map(([letter, name]) => el("li", {}, el("span", { class: `chip kind-${letter}` }, letter), name)));
}

function figures(analysis) {
  const flat = Object.entries(analysis).filter(([, value]) => typeof value === "number");
  return el("section", { class: "figures" }, el("h3", {}, "The session"),
    el("dl", {}, flat.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, Math.round(value * 1000) / 1000)])));
}
