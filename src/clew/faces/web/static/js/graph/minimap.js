// The whole picture in a corner, with the visible part framed. A click or drag goes there.

import { el } from "../dom.js";
import { NODE } from "./layout.js";

const WIDTH = 180,
  HEIGHT = 120;
const PAUSE = 250;
const WHOLE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

export class Minimap {
  constructor(onGo) {
    this.canvas = el("canvas", { width: WIDTH, height: HEIGHT });
    this.window = el("i", {});
    this.element = el("div", { class: "minimap", "aria-hidden": "true" }, this.canvas, this.window);
    this.scale = 0;
    this.width = 0;
    this.height = 0;
    this.painted = 0;
    const go = (event) => {
      event.stopPropagation();
      if (event.buttons !== 1) return;
      const box = this.canvas.getBoundingClientRect();
      onGo((event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale);
    };
    this.element.addEventListener("pointerdown", go);
    this.element.addEventListener("pointermove", go);
  }

  // The boxes are painted a few times a second at most, and only when they changed; the frame
  // of what is visible always. True when they are behind, so that the caller draws once more.
  draw(layout, model, view, isStale) {
    const now = performance.now();
    this.stale ||= isStale;
    if (this.stale && now - this.painted >= PAUSE) {
      this.#paint(layout, model);
      this.painted = now;
      this.stale = false;
    }
    this.look(view);
    return this.stale;
  }

  // Frames what is visible: an element that is moved, so that moving the picture paints nothing.
  look(view) {
    const width = (view.right - view.left) * this.scale,
      height = (view.bottom - view.top) * this.scale;
    const { style } = this.window;
    style.transform = `translate(${view.left * this.scale}px, ${view.top * this.scale}px)`;
    if (this.width === width && this.height === height) return;
    Object.assign(this, { width, height });
    style.width = `${width}px`;
    style.height = `${height}px`;
  }

  // No larger than the picture, so that it hides as little as possible; no finer than its own dots,
  // so that a long session costs no more than a short one.
  #paint(layout, model) {
    this.scale = Math.min(WIDTH / (layout.width + 20), HEIGHT / (layout.height + 20), 0.2);
    this.canvas.width = Math.max(1, Math.ceil((layout.width + 20) * this.scale));
    this.canvas.height = Math.max(1, Math.ceil((layout.height + 20) * this.scale));
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(this.canvas);
    const colors = new Map();
    const color = (kind) => {
      if (!colors.has(kind)) colors.set(kind, style.getPropertyValue(`--kind-${kind || "none"}`));
      return colors.get(kind);
    };
    const width = Math.max(1, NODE.width * this.scale),
      height = Math.max(1, NODE.height * this.scale);
    const stride = Math.max(1, Math.floor(1 / ((NODE.height + NODE.gapY) * this.scale)));
    layout.visit(
      WHOLE,
      (lane, place, x, y) => {
        pen.fillStyle = color(model.at(lane.name, place).kind);
        pen.fillRect(x * this.scale, y * this.scale, width, height);
      },
      undefined,
      stride,
    );
  }
}
