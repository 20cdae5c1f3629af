// Draws a layout. Only what is visible becomes elements; lines and far-away boxes go onto a canvas. An added thought
// adds an element, it never rebuilds the picture.

import { el, shorten } from "../dom.js";
import { columnsFor, digest, layout, NODE } from "./layout.js";
import { kindOf, KINDS, plainText } from "./kinds.js";
import { Camera } from "./camera.js";
import { Minimap } from "./minimap.js";

const FAR = 0.32;
const MARGIN = 300;

export class GraphView {
  constructor(model, { onSelect }) {
    this.model = model;
    this.onSelect = onSelect;
    this.folded = new Set();
    this.count = null;
    this.nodes = new Map();
    this.headers = new Map();
    this.fresh = new Set();
    this.found = new Set();
    this.canvas = el("canvas", { class: "lines", "aria-hidden": "true" });
    this.world = el("div", { class: "world", role: "list", "aria-label": "Thoughts" });
    this.frame = el("div", { class: "graph", tabindex: "0", id: "graph", "aria-label": "Thought graph; arrow keys move, plus and minus zoom" }, this.canvas, this.world);
    this.minimap = new Minimap((x, y) => this.camera.center(x, y));
    this.frame.append(this.minimap.canvas);
    this.camera = new Camera(this.frame, () => this.#schedule());
    this.frame.addEventListener("keydown", (event) => this.#key(event));
    this.resizing = new ResizeObserver(() => this.arrange());
    this.resizing.observe(this.frame);
  }

  // How many thoughts to show, counted from the first; null follows the newest.
  scrub(count) {
    this.count = count;
    this.arrange();
  }

  fold(name) {
    if (!this.folded.delete(name)) this.folded.add(name);
    this.arrange();
  }

  // Everything again: after a snapshot, a fold, a scrub, a new size.
  arrange() {
    const chains = this.count === null ? this.model.chains : this.model.at(this.count);
    this.picture = layout(chains, {
      columns: columnsFor(this.frame.clientWidth), origin: (name) => this.model.origin(name), folded: this.folded,
    });
    this.frame.dataset.digest = digest(this.picture);
    this.frame.dataset.count = String(this.picture.placed.size);
    this.#schedule();
  }

  // A thought that was just written.
  added(thought) {
    if (this.count !== null) return;
    this.fresh.add(thought.id);
    setTimeout(() => this.fresh.delete(thought.id), 1500);
    this.arrange();
  }

  show(id) {
    const at = this.picture.placed.get(id);
    if (at) this.camera.center(at.x + NODE.width / 2, at.y + NODE.height / 2);
  }

  select(id) {
    this.selected = id;
    for (const [other, node] of this.nodes) node.classList.toggle("selected", other === id);
    this.#schedule();
  }

  mark(ids) {
    this.found = new Set(ids);
    for (const [id, node] of this.nodes) node.classList.toggle("found", this.found.has(id));
  }

  fit() {
    this.camera.fit(this.picture.width, this.picture.height);
  }

  close() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.waiting);
  }

  #schedule() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.#draw(); });
  }

  #draw() {
    if (!this.picture) return;
    const { x, y, scale } = this.camera;
    this.world.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    const far = scale < FAR;
    this.frame.classList.toggle("far", far);
    this.#drawNodes(far);
    this.#drawHeaders();
    this.#drawLines(far);
    this.minimap.draw(this.picture, this.camera.view(), this.model);
    this.frame.dataset.drawn = this.frame.dataset.count;
  }

  #drawNodes(far) {
    const view = this.camera.view(MARGIN);
    const wanted = new Set();
    if (!far) {
      for (const [id, at] of this.picture.placed) {
        if (at.x > view.right || at.x + NODE.width < view.left || at.y > view.bottom || at.y + NODE.height < view.top) continue;
        wanted.add(id);
        const node = this.nodes.get(id) ?? this.#makeNode(id);
        node.style.transform = `translate(${at.x}px, ${at.y}px)`;
      }
    }
    for (const [id, node] of this.nodes) if (!wanted.has(id)) { node.remove(); this.nodes.delete(id); }
  }

  #makeNode(id) {
    const thought = this.model.thoughts.get(id);
    const kind = kindOf(thought);
    const name = KINDS[kind] ?? "thought";
    const node = el("article", {
      class: `node kind-${kind || "none"}${this.fresh.has(id) ? " fresh" : ""}${this.selected === id ? " selected" : ""}`,
      role: "listitem", tabindex: "0", data: { id }, "aria-label": `Thought ${thought.thoughtNumber}, ${name}: ${shorten(plainText(thought), 80)}`,
      onclick: () => this.onSelect(id), onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.onSelect(id); }
      },
    },
    el("header", {}, el("span", { class: "number" }, thought.thoughtNumber),
      kind ? el("abbr", { class: "kind", title: name }, kind) : null,
      thought.isRevision ? el("span", { class: "tag" }, `revises ${thought.revisesThought ?? ""}`) : null,
      thought.critique ? el("span", { class: "tag", title: "has a critique" }, "critique") : null),
    el("p", {}, shorten(plainText(thought), 160)));
    node.classList.toggle("found", this.found.has(id));
    this.nodes.set(id, node);
    this.world.append(node);
    return node;
  }

  #drawHeaders() {
    const wanted = new Set();
    for (const lane of this.picture.lanes) {
      wanted.add(lane.name);
      const header = this.headers.get(lane.name) ?? this.#makeHeader(lane.name);
      header.style.transform = `translate(${lane.x - 14}px, ${lane.y}px)`;
      header.querySelector(".count").textContent = `${lane.count} thought${lane.count === 1 ? "" : "s"}`;
      header.setAttribute("aria-expanded", String(!lane.folded));
      header.classList.toggle("folded", lane.folded);
    }
    for (const [name, header] of this.headers) if (!wanted.has(name)) { header.remove(); this.headers.delete(name); }
  }

  #makeHeader(name) {
    const header = el("button", { type: "button", class: "lane", data: { branch: name }, onclick: () => this.fold(name) },
      el("span", { class: "name" }, shorten(this.model.name(name), 60)), el("span", { class: "count" }));
    this.headers.set(name, header);
    this.world.append(header);
    return header;
  }

  #drawLines(far) {
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (this.canvas.width !== width * ratio || this.canvas.height !== height * ratio) {
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
    }
    const pen = this.canvas.getContext("2d");
    const { x, y, scale } = this.camera;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.translate(x, y);
    pen.scale(scale, scale);
    const style = getComputedStyle(this.frame);
    const color = (name) => style.getPropertyValue(name).trim();
    const view = this.camera.view(MARGIN);
    this.#drawLaneBars(pen, color);
    const counts = this.count === null ? this.model.chains : this.model.at(this.count);
    for (const [name, thoughts] of counts) this.#drawChain(pen, name, thoughts, view, color);
    if (far) this.#drawBoxes(pen, view, color);
  }

  #drawLaneBars(pen, color) {
    pen.fillStyle = color("--lane");
    for (const lane of this.picture.lanes) pen.fillRect(lane.x - 14, lane.y, 3, lane.height);
  }

  #drawChain(pen, name, thoughts, view, color) {
    if (this.folded.has(name)) return;
    let before = name ? this.picture.placed.get(this.model.origin(name)) : null;
    let branching = Boolean(name);
    for (const thought of thoughts) {
      const at = this.picture.placed.get(thought.id);
      if (!at) continue;
      if (before && near(before, at, view)) {
        pen.strokeStyle = color(branching ? "--branch-line" : "--line");
        pen.lineWidth = 2;
        pen.setLineDash(branching ? [6, 5] : []);
        connect(pen, before, at);
      }
      const revised = this.picture.placed.get(this.model.revised(thought));
      if (revised && near(revised, at, view)) {
        pen.strokeStyle = color("--revision-line");
        pen.setLineDash([3, 4]);
        pen.lineWidth = this.selected === thought.id ? 3 : 1.5;
        arc(pen, at, revised);
      }
      before = at;
      branching = false;
    }
    pen.setLineDash([]);
  }

  #drawBoxes(pen, view, color) {
    for (const [id, at] of this.picture.placed) {
      if (at.x > view.right || at.x + NODE.width < view.left || at.y > view.bottom || at.y + NODE.height < view.top) continue;
      pen.fillStyle = color(`--kind-${kindOf(this.model.thoughts.get(id)) || "none"}`);
      pen.fillRect(at.x, at.y, NODE.width, NODE.height);
      if (this.selected === id || this.found.has(id)) {
        pen.strokeStyle = color("--accent");
        pen.lineWidth = 14;
        pen.strokeRect(at.x, at.y, NODE.width, NODE.height);
      }
    }
  }

  #key(event) {
    const moves = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    if (event.target !== this.frame) return;
    if (moves[event.key]) this.camera.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.camera.zoom(1.2);
    else if (event.key === "-") this.camera.zoom(1 / 1.2);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}

function near(a, b, view) {
  return Math.max(a.y, b.y) + NODE.height >= view.top && Math.min(a.y, b.y) <= view.bottom
    && Math.max(a.x, b.x) + NODE.width >= view.left && Math.min(a.x, b.x) <= view.right;
}

// Neighbours in a row join side to side; at the end of a row the line drops straight down.
function connect(pen, from, to) {
  pen.beginPath();
  if (from.y === to.y) {
    const right = to.x > from.x;
    pen.moveTo(from.x + (right ? NODE.width : 0), from.y + NODE.height / 2);
    pen.lineTo(to.x + (right ? 0 : NODE.width), to.y + NODE.height / 2);
  } else {
    const start = { x: from.x + NODE.width / 2, y: from.y + NODE.height };
    const end = { x: to.x + NODE.width / 2, y: to.y };
    const middle = (start.y + end.y) / 2;
    pen.moveTo(start.x, start.y);
    pen.bezierCurveTo(start.x, middle, end.x, middle, end.x, end.y);
  }
  pen.stroke();
}

// A revision looks back over the heads of what lies between.
function arc(pen, from, to) {
  const start = { x: from.x + NODE.width / 2, y: from.y };
  const end = { x: to.x + NODE.width / 2, y: to.y + (to.y < from.y ? NODE.height : 0) };
  const lift = Math.min(start.y, end.y) - 26;
  pen.beginPath();
  pen.moveTo(start.x, start.y);
  pen.bezierCurveTo(start.x, lift, end.x, to.y < from.y ? end.y + 26 : lift, end.x, end.y);
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  pen.arc(end.x, end.y, 4, 0, 7);
  pen.stroke();
}
