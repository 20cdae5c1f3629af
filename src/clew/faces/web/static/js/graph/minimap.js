// The whole picture in a corner, with the visible part framed. A click or drag goes there.

import { el } from "../dom.js";
import { NODE } from "./layout.js";
import { kindOf } from "./kinds.js";

const WIDTH = 180, HEIGHT = 120;

export class Minimap {
  constructor(onGo) {
    this.canvas = el("canvas", { class: "minimap", width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    this.onGo = onGo;
    const go = (event) => {
      if (event.buttons !== 1) return;
      event.stopPropagation();
      const box = this.canvas.getBoundingClientRect();
      onGo((event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale);
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
  }

  draw(picture, view, model) {
    const pen = this.canvas.getContext("2d");
    this.scale = Math.min(WIDTH / (picture.width + 20), HEIGHT / (picture.height + 20), 0.2);
    this.#size(Math.ceil((picture.width + 20) * this.scale), Math.ceil((picture.height + 20) * this.scale));
    const style = getComputedStyle(this.canvas);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    for (const [id, at] of picture.placed) {
      pen.fillStyle = style.getPropertyValue(`--kind-${kindOf(model.thoughts.get(id)) || "none"}`);
      pen.fillRect(at.x * this.scale, at.y * this.scale, Math.max(1, NODE.width * this.scale), Math.max(1, NODE.height * this.scale));
    }
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.lineWidth = 1.5;
    pen.strokeRect(view.left * this.scale, view.top * this.scale, (view.right - view.left) * this.scale, (view.bottom - view.top) * this.scale);
  }

  // No larger than the picture, so that it hides as little as possible.
  #size(width, height) {
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
  }
}
