// The whole picture in a corner, with the visible part framed. A click or drag goes there.

import { el } from "../dom.js";
import { NODE } from "./layout.js";
import { colors } from "./lines.js";

const WIDTH = 180,
  HEIGHT = 120,
  LEAST = 40,
  MOST_SCALE = 0.2;
const PAUSE = 250;
const WHOLE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

export class Minimap {
  constructor(onGo) {
    this.canvas = el("canvas", { width: WIDTH, height: HEIGHT });
    this.window = el("i");
    this.element = el("div.minimap", { "aria-hidden": "true" }, this.canvas, this.window);
    this.across = 0;
    this.down = 0;
    this.width = 0;
    this.height = 0;
    this.painted = 0;
    const go = (event) => {
      event.stopPropagation();
      if (event.buttons !== 1) return;
      const box = this.canvas.getBoundingClientRect();
      onGo((event.clientX - box.left) / this.across, (event.clientY - box.top) / this.down);
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

  // Frames the visible part: an element that is moved, so that moving the picture paints nothing.
  look(view) {
    const width = (view.right - view.left) * this.across,
      height = (view.bottom - view.top) * this.down;
    const { style } = this.window;
    style.transform = `translate(${view.left * this.across}px, ${view.top * this.down}px)`;
    if (this.width === width && this.height === height) return;
    Object.assign(this, { width, height });
    style.width = `${width}px`;
    style.height = `${height}px`;
  }

  // No larger than the picture, so that it hides as little as possible, and never a line: what is much
  // longer than wide is stretched. No finer than its own dots, so that a long session costs no more
  // than a short one.
  #paint(layout, model) {
    const wide = layout.width + 20,
      high = layout.height + 20;
    const fits = Math.min(WIDTH / wide, HEIGHT / high, MOST_SCALE);
    this.across = Math.max(fits, Math.min(LEAST / wide, MOST_SCALE));
    this.down = Math.max(fits, Math.min(LEAST / high, MOST_SCALE));
    this.canvas.width = Math.max(1, Math.ceil(wide * this.across));
    this.canvas.height = Math.max(1, Math.ceil(high * this.down));
    const pen = this.canvas.getContext("2d");
    const color = colors(this.canvas);
    const width = Math.max(1, NODE.width * this.across),
      height = Math.max(1, NODE.height * this.down);
    const stride = Math.max(1, Math.floor(1 / ((NODE.height + NODE.gapY) * this.down)));
    layout.visit(
      WHOLE,
      (lane, place, x, y) => {
        pen.fillStyle = color(`--kind-${model.at(lane.name, place).kind || "none"}`);
        pen.fillRect(x * this.across, y * this.down, width, height);
      },
      undefined,
      stride,
    );
  }
}
