// A field with a picture of boxes and lines that is moved and zoomed by the one camera: cards, areas,
// neighbourhoods. What is drawn is laid over what was drawn before, so that focus and place stay
// while others write. One box can be reached by Tab; from there the arrow keys walk.

import { el, svg } from "../dom.js";
import { redraw } from "../redraw.js";
import { Camera, cameraTools, Layer } from "./camera.js";

const READABLE = 0.7,
  KEPT = 30;
/** @type {Map<string, {x: number, y: number, scale: number}>} */
const kept = new Map();

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Spot
 */
export class Field {
  /**
   * @param {{id: string, label: string, name: string, onPick: (id: string) => any, tools?: any}} options
   * `name` is what the place of the camera is remembered by.
   */
  constructor({ id, label, name, onPick, tools = null }) {
    this.name = name;
    this.onPick = onPick;
    /** @type {Map<string, Spot>} */
    this.spots = new Map();
    this.current = "";
    // The box that must stay in sight when the field becomes smaller.
    this.chosen = "";
    this.plane = svg("svg", { class: "plane", role: "group", "aria-label": label });
    this.frame = el(
      "div",
      {
        class: "graph field",
        id,
        tabindex: "0",
        role: "region",
        "aria-label": `${label}: arrow keys move it, plus and minus zoom, 0 shows all`,
        onkeydown: (event) => this.#key(event),
      },
      this.plane,
    );
    this.layer = new Layer(this.plane);
    this.camera = new Camera(this.frame, () => this.#place());
    this.frame.append(
      el(
        "div",
        { class: "field-tools", onpointerdown: (event) => event.stopPropagation() },
        tools,
        cameraTools(this.camera, () => this.fit()),
      ),
    );
    this.resizing = new ResizeObserver(() => this.#resized());
    this.resizing.observe(this.frame);
  }

  // `spots` says where each box stands; `shapes` makes the picture. `first` is the box to begin at.
  draw({ width, height }, spots, shapes, first = "") {
    this.size = { width, height };
    this.spots = spots;
    if (!spots.has(this.current)) this.current = spots.has(first) ? first : [...spots.keys()][0];
    this.plane.setAttribute("width", width);
    this.plane.setAttribute("height", height);
    this.plane.setAttribute("viewBox", `0 0 ${width} ${height}`);
    redraw(this.plane, shapes);
    this.first = first;
    this.#stops();
    if (!this.begun) this.#begin();
    this.frame.dataset.drawn = String(spots.size);
  }

  fit() {
    const { width, height } = this.size;
    this.camera.fit(width, height);
    const free = this.frame.clientHeight - height * this.camera.scale;
    if (free > 60) this.camera.pan(0, free / 2 - this.camera.y);
  }

  // Moves just far enough for a box to be seen.
  reveal(id) {
    const spot = this.spots.get(id);
    if (spot) this.camera.reveal(spot.x, spot.y, spot.width, spot.height, 40);
  }

  // The box that Tab leads to.
  stand(id) {
    if (!this.spots.has(id)) return;
    this.current = id;
    this.#stops();
  }

  close() {
    this.resizing.disconnect();
    this.layer.close();
    const { x, y, scale } = this.camera;
    if (this.begun) kept.set(this.name, { x, y, scale });
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }

  // As it was left; else all of it, if that can be read; else the first box in the middle.
  #begin() {
    if (!this.frame.clientWidth || !this.size) return;
    this.begun = true;
    const before = kept.get(this.name);
    if (before) {
      Object.assign(this.camera, before);
      return this.#place();
    }
    const { width, height } = this.size;
    if (this.camera.scaleFor(width, height) >= READABLE) return this.fit();
    this.camera.scale = Math.max(READABLE, Math.min(1, (this.frame.clientWidth - 40) / width));
    const spot = this.spots.get(this.first);
    if (spot) return this.camera.center(spot.x + spot.width / 2, spot.y + spot.height / 2);
    this.camera.x = 20;
    this.camera.y = 20;
    this.#place();
  }

  #resized() {
    if (!this.begun) this.#begin();
    else if (this.chosen) this.reveal(this.chosen);
  }

  #place() {
    this.layer.put(this.camera);
  }

  #stops() {
    for (const node of this.plane.querySelectorAll("[data-box]"))
      node.setAttribute("tabindex", node.dataset.box === this.current ? "0" : "-1");
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = event.target.closest?.("[data-box]");
    if (box) this.#boxKey(event, box.dataset.box);
    else if (event.target === this.frame) this.camera.key(event, () => this.fit());
  }

  #boxKey(event, id) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.onPick(id);
    }
    const way = WAYS[event.key];
    if (!way) return void this.camera.key(event, () => this.fit());
    event.preventDefault();
    const next = nearest(this.spots, id, way);
    if (!next) return;
    this.stand(next);
    this.reveal(next);
    this.plane.querySelector(`[data-box="${CSS.escape(next)}"]`)?.focus({ preventScroll: true });
  }
}

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The nearest box in a direction; what lies aside counts twice.
function nearest(spots, id, [dx, dy]) {
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
  const [fromX, fromY] = middle(spots.get(id));
  let best = null,
    least = Infinity;
  for (const [other, spot] of spots) {
    const [x, y] = middle(spot);
    const along = (x - fromX) * dx + (y - fromY) * dy;
    const aside = Math.abs((x - fromX) * dy) + Math.abs((y - fromY) * dx);
    if (other === id || along < 8) continue;
    const far = along + 2 * aside;
    if (far < least) [best, least] = [other, far];
  }
  return best;
}

// A box that acts as a button. `of` is the record it stands for.
export function boxShape(field, of, spot, label, classes, data, ...children) {
  return svg(
    "g",
    {
      class: classes,
      role: "button",
      tabindex: field.current === of ? "0" : "-1",
      transform: `translate(${spot.x} ${spot.y})`,
      data: { key: of, box: of, ...data },
      onclick: () => field.onPick(of),
    },
    // Its name, and all its words for whoever rests the pointer on it: those in the box may be cut.
    svg("title", {}, label),
    svg("rect", { class: "ground", width: spot.width, height: spot.height, rx: 10 }),
    children,
  );
}

export function arrowHead(id) {
  return svg(
    "marker",
    {
      id,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      orient: "auto-start-reverse",
      class: id,
    },
    svg("path", { d: "M0 0L8 4L0 8z" }),
  );
}

// What the chosen box is linked with stands out, the rest steps back.
export function highlight(plane, chosen, edges) {
  const near = new Set(
    edges
      .filter(({ from, to }) => from === chosen || to === chosen)
      .flatMap(({ from, to }) => [from, to]),
  );
  plane.classList.toggle("lit", Boolean(chosen) && near.size > 0);
  for (const box of plane.querySelectorAll("[data-box]")) {
    box.classList.toggle("chosen", box.dataset.box === chosen);
    box.classList.toggle("near", near.has(box.dataset.box) || box.dataset.box === chosen);
  }
  for (const line of plane.querySelectorAll("[data-from]"))
    line.classList.toggle("near", [line.dataset.from, line.dataset.to].includes(chosen));
}
