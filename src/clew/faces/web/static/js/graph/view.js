// Draws a layout. Only what is visible becomes elements; lines and far-away boxes go onto a canvas.
// An added thought adds an element, it never rebuilds the picture; however many come at once, they
// are drawn in one frame.

import { el, shorten } from "../dom.js";
import { Camera, Layer } from "./camera.js";
import { KINDS, plainText } from "./kinds.js";
import { columnsFor, HEADER, Layout, NODE } from "./layout.js";
import { Lines } from "./lines.js";
import { Minimap } from "./minimap.js";
import { Nodes } from "./nodes.js";

const FAR = 0.32;
const MARGIN = 300;
const WIDTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
// While many write, the picture is drawn some fifteen times a second, and arrivals are not
// celebrated one by one.
const PAUSE = 60,
  CALM = 1_000;

// Which lanes are folded, for as long as this tab is open: a reload shows the same picture.
const FOLDED = (session) => `clew.folded.${session}`;

function foldedLanes(session) {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(FOLDED(session)) ?? "[]"));
  } catch {
    return new Set();
  }
}

function keepFolded(session, lanes) {
  try {
    sessionStorage.setItem(FOLDED(session), JSON.stringify([...lanes]));
  } catch {
    /* a browser may forbid it; then a reload unfolds them */
  }
}

export class GraphView {
  constructor(model, openings, { onSelect, onDraw }) {
    this.onDraw = onDraw;
    this.onSelect = onSelect;
    // The number of thoughts in a row while the whole is shown; null fits rows to the window.
    this.wide = null;
    this.folded = foldedLanes(model.session.id);
    this.count = null;
    this.canvas = el("canvas.lines", { "aria-hidden": "true" });
    this.world = el("div.world", { role: "group", "aria-label": "Thoughts" });
    this.frame = el(
      "div#graph.graph",
      { tabindex: "0", "aria-label": "Thought graph; arrow keys move, plus and minus zoom" },
      this.canvas,
      this.world,
    );
    this.lines = new Lines(this.canvas);
    this.nodes = new Nodes(this.world, {
      onSelect,
      onFold: (name) => this.fold(name),
      onStep: (record, by) => this.#step(record, by),
    });
    this.minimap = new Minimap((x, y) => this.camera.center(x, y));
    this.frame.append(this.minimap.element);
    this.layer = new Layer(this.world);
    this.camera = new Camera(this.frame, () => this.#soonMoved());
    this.frame.addEventListener("keydown", (event) => this.#key(event));
    this.frame.addEventListener("click", (event) => this.#clickFar(event));
    this.frame.addEventListener("pointermove", (event) => this.#hoverFar(event));
    this.resizing = new ResizeObserver(() => {
      this.resized = true;
      this.schedule();
    });
    this.use(model, openings);
    this.resizing.observe(this.frame);
  }

  // Another session, or the same one reloaded.
  use(model, openings) {
    this.model = model;
    this.openings = openings;
    this.known = model.length;
    this.arrange();
  }

  // How many thoughts to show, counted from the first; null follows the newest.
  scrub(count) {
    this.count = count;
    this.arrange();
  }

  fold(name) {
    if (!this.folded.delete(name)) this.folded.add(name);
    keepFolded(this.model.session.id, this.folded);
    this.arrange();
  }

  // Rebuild the lanes: after a fold, a scrub, a resize.
  arrange() {
    this.layout = this.#laidOut(this.#columns());
    this.changed = true;
    this.isTold = false;
    this.schedule();
  }

  #laidOut(columns) {
    return new Layout(this.model, { columns, folded: this.folded, count: this.count });
  }

  // A selected thought stays where it is: the panel next to the picture makes the window narrower,
  // and that alone must not cause a new layout.
  #columns() {
    if (this.wide) return this.wide;
    if (this.selected && this.layout) return this.layout.columns;
    return columnsFor(this.frame.clientWidth);
  }

  // A thought that was just written and is in the model already.
  added(record) {
    this.#soon();
    if (this.count !== null) return;
    const last = this.model.order[record.index - 1];
    const follows = last && last.chain === record.chain && (this.following === last || this.#sees(last));
    this.layout.grow(record);
    if (follows) this.following = record;
    this.changed = true;
  }

  // In the middle, and near enough to be read.
  show(id) {
    if (this.wide) {
      this.wide = null;
      this.arrange();
    }
    if (this.camera.scale < FAR) this.camera.zoom(1 / this.camera.scale);
    const at = this.layout.place(this.model.find(id));
    if (at) this.camera.center(at.x + NODE.width / 2, at.y + NODE.height / 2);
  }

  // Moves no further than needed.
  reveal(record) {
    const at = this.layout.place(record);
    if (at) this.camera.reveal(at.x, at.y, NODE.width, NODE.height);
  }

  select(id) {
    this.nodes.select(id);
    this.schedule();
  }

  get selected() {
    return this.nodes.selected;
  }

  mark(ids) {
    this.nodes.mark(ids);
    this.schedule();
  }

  // The whole of it, as large as it can be: in as many columns as suit the window.
  fit() {
    const room = (columns) => {
      const { width, height } = this.#laidOut(columns);
      return this.camera.scaleFor(width, height);
    };
    this.wide = WIDTHS.reduce((best, columns) => (room(columns) > room(best) ? columns : best));
    this.arrange();
    this.camera.fit(this.layout.width, this.layout.height);
  }

  close() {
    this.resizing.disconnect();
    clearTimeout(this.later);
    clearTimeout(this.coming);
    cancelAnimationFrame(this.waiting);
    this.layer.close();
  }

  // Invalidate: the picture is drawn again in the next frame.
  schedule() {
    this.dirty = true;
    this.#soonMoved();
  }

  #soonMoved() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.dirty || !this.#slide()) this.#draw();
    });
  }

  // While the camera only moves within the margin that is drawn around the window, the browser
  // shifts the painted layer: no layout, drawing or painting. False if more has to be drawn.
  #slide() {
    const { x, y, scale } = this.camera;
    const dx = x - this.drawnFor.x,
      dy = y - this.drawnFor.y;
    if (scale !== this.drawnFor.scale || Math.max(Math.abs(dx), Math.abs(dy)) > MARGIN) return false;
    // Measured before anything is moved: asking afterwards would make the browser lay out at once.
    const view = this.camera.view();
    this.#put(dx, dy);
    this.minimap.look(view);
    return true;
  }

  #put(dx, dy) {
    this.canvas.style.transform = `translate(${dx}px, ${dy}px)`;
    this.layer.put(this.camera);
  }

  #soon() {
    // A frame that only moves the picture may be scheduled; it must include what arrived meanwhile.
    if (this.waiting) this.dirty = true;
    if (this.waiting || this.coming) return;
    const pause = (this.drawnAt ?? 0) + PAUSE - performance.now();
    if (pause <= 0) return this.schedule();
    this.coming = setTimeout(() => {
      this.coming = 0;
      this.schedule();
    }, pause);
  }

  #sees(record) {
    const at = this.layout.place(record);
    return at && holds(this.camera.view(), at);
  }

  #draw() {
    if (this.#columns() !== this.layout.columns) this.arrange();
    if (this.resized && this.selected) this.reveal(this.model.find(this.selected));
    this.resized = false;
    if (this.following) this.reveal(this.following);
    this.following = null;
    const { x, y, scale } = this.camera;
    this.dirty = false;
    this.drawnFor = { x, y, scale };
    this.isFar = scale < FAR;
    const view = this.camera.view(),
      around = this.camera.view(MARGIN);
    this.lines.begin(this.camera, MARGIN);
    this.frame.classList.toggle("far", this.isFar);
    this.#put(0, 0);
    this.drawnAt = performance.now();
    const fresh = this.drawnAt - (this.arrivedAt ?? -CALM) >= CALM ? this.known : Infinity;
    const whole = this.#drawVisible(around, fresh);
    if (this.known < this.model.length) this.arrivedAt = this.drawnAt;
    this.known = this.model.length;
    if (this.minimap.draw(this.layout, this.model, view, this.changed)) this.#again();
    this.changed = false;
    if (whole) this.#tell();
    this.onDraw();
  }

  // The minimap waits for a calmer moment.
  #again() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.schedule(), 260);
  }

  // The present state of the picture, to compare two of them.
  #tell() {
    this.isTold = true;
    Object.assign(this.frame.dataset, {
      drawn: String(this.layout.shown),
      digest: this.layout.digest,
      thoughts: String(this.model.length),
    });
  }

  // Thoughts from `fresh` on arrive before the reader's eyes.
  #drawVisible(view, fresh) {
    let whole = true;
    this.nodes.begin();
    this.layout.visit(
      view,
      (lane, place, x, y) => {
        const record = this.model.at(lane.name, place);
        this.#drawLines(lane, record, { x, y }, view);
        if (this.isFar) this.lines.box(record, x, y, record.id === this.selected || this.nodes.found.has(record.id));
        else if (!this.nodes.show(record, x, y, this.openings.get(record.index), record.index >= fresh)) whole = false;
      },
      (lane, x, y) => this.#drawLane(lane, x, y),
    );
    this.nodes.end();
    if (this.focusing && this.nodes.focus(this.focusing)) this.focusing = null;
    return whole;
  }

  #drawLane(lane, x, y) {
    this.lines.bar(lane, x, y);
    this.nodes.name(lane, x - 14, y, this.model.name(lane.name));
    const origin = this.layout.place(this.model.chains.get(lane.name).origin);
    if (origin && !lane.folded) this.lines.branch(origin, { x, y: y + HEADER });
  }

  // Each line belongs to its later end; a revision is drawn from whichever end is in view.
  #drawLines(lane, record, at, view) {
    if (record.place > 0) this.lines.next(this.layout.place(this.model.at(lane.name, record.place - 1)), at);
    const revised = record.revises && this.layout.place(this.model.find(record.revises));
    if (revised) this.lines.revision(at, revised, record.id === this.selected);
    for (const index of this.model.revisers.get(record.index) ?? []) {
      const from = this.layout.place(this.model.order[index]);
      if (from && !holds(view, from)) this.lines.revision(from, at, this.model.order[index].id === this.selected);
    }
  }

  // From thought to thought along a chain, by the arrow keys.
  #step(record, by) {
    const next = this.model.at(record.chain, record.place + by);
    if (!next) return;
    this.onSelect(next.id);
    this.reveal(next);
    this.focusing = next.id;
    this.schedule();
  }

  // When zoomed out thoughts are painted on a canvas, so this handles the pointer over one.
  #clickFar(event) {
    const record = this.isFar && this.#under(event);
    if (!record) return;
    this.onSelect(record.id);
    this.show(record.id);
  }

  #hoverFar(event) {
    const record = this.isFar ? this.#under(event) : null;
    const words = record && this.openings.get(record.index)?.text;
    this.frame.title = record
      ? `${record.number} ${KINDS[record.kind] ?? "thought"}${words ? `: ${shorten(plainText(words), 120)}` : ""}`
      : "";
  }

  #under(event) {
    const { left, top } = this.frame.getBoundingClientRect();
    const x = (event.clientX - left - this.camera.x) / this.camera.scale,
      y = (event.clientY - top - this.camera.y) / this.camera.scale;
    let found = null;
    this.layout.visit({ left: x, right: x, top: y, bottom: y }, (lane, place, nodeX, nodeY) => {
      const inside = x >= nodeX && x <= nodeX + NODE.width && y >= nodeY && y <= nodeY + NODE.height;
      if (inside) found = this.model.at(lane.name, place);
    });
    return found;
  }

  #key(event) {
    if (event.target === this.frame) this.camera.key(event, () => this.fit());
  }
}

function holds(view, at) {
  return at.y + NODE.height >= view.top && at.y <= view.bottom && at.x + NODE.width >= view.left && at.x <= view.right;
}
