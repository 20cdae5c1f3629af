// Pan and zoom: wheel, drag, pinch, keys and buttons, all ending in one transform. Every graph of
// the page is moved by this one camera.

import { el } from "../dom.js";

const SMALLEST = 0.01,
  LARGEST = 2,
  CLICK = 5;

export class Camera {
  constructor(frame, onMove) {
    this.frame = frame;
    this.onMove = onMove;
    this.x = 40;
    this.y = 40;
    this.scale = 1;
    this.#listen();
  }

  // The visible part of the picture, in its own coordinates.
  view(margin = 0) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    return {
      left: (-this.x - margin) / this.scale,
      top: (-this.y - margin) / this.scale,
      right: (width - this.x + margin) / this.scale,
      bottom: (height - this.y + margin) / this.scale,
    };
  }

  zoom(factor, at) {
    const center = at ?? { x: this.frame.clientWidth / 2, y: this.frame.clientHeight / 2 };
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const ratio = scale / this.scale;
    this.x = center.x - (center.x - this.x) * ratio;
    this.y = center.y - (center.y - this.y) * ratio;
    this.scale = scale;
    this.onMove();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.onMove();
  }

  center(x, y) {
    this.x = this.frame.clientWidth / 2 - x * this.scale;
    this.y = this.frame.clientHeight / 2 - y * this.scale;
    this.onMove();
  }

  // The zoom at which a picture of this size fits.
  scaleFor(width, height) {
    const { clientWidth, clientHeight } = this.frame;
    return Math.min(clientWidth / (width + 80), clientHeight / (height + 80), 1);
  }

  fit(width, height) {
    this.scale = Math.max(SMALLEST, this.scaleFor(width, height));
    this.x = Math.max(20, (this.frame.clientWidth - width * this.scale) / 2);
    this.y = 30;
    this.onMove();
  }

  // Moves just far enough for the whole box to be seen.
  reveal(x, y, width, height, margin = 24) {
    const left = x * this.scale + this.x,
      top = y * this.scale + this.y;
    const right = left + width * this.scale,
      bottom = top + height * this.scale;
    const { clientWidth, clientHeight } = this.frame;
    const dx = left < margin ? margin - left : Math.min(0, clientWidth - margin - right);
    const dy = top < margin ? margin - top : Math.min(0, clientHeight - margin - bottom);
    if (dx || dy) this.pan(dx, dy);
  }

  // The keys that every picture has: arrows move it, plus and minus zoom, 0 shows all. True when
  // the key was one of them.
  key(event, fit) {
    const moves = {
      ArrowLeft: [80, 0],
      ArrowRight: [-80, 0],
      ArrowUp: [0, 80],
      ArrowDown: [0, -80],
    };
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.2);
    else if (event.key === "-") this.zoom(1 / 1.2);
    else if (event.key === "0") fit();
    else return false;
    event.preventDefault();
    return true;
  }

  #listen() {
    this.frame.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), this.#point(event));
        else this.pan(-event.deltaX, -event.deltaY);
      },
      { passive: false },
    );
    this.pointers = new Map();
    this.frame.addEventListener("pointerdown", (event) => this.#down(event));
    this.frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) this.frame.addEventListener(end, (event) => this.#up(event));
    // The click that ends a drag opens nothing.
    this.frame.addEventListener(
      "click",
      (event) => {
        if (this.dragged) event.stopPropagation();
        this.dragged = false;
      },
      { capture: true },
    );
  }

  #down(event) {
    if (event.button > 0) return;
    if (!this.pointers.size) this.dragged = false;
    this.pointers.set(event.pointerId, { start: this.#point(event), now: this.#point(event) });
    this.spread = 0;
  }

  #move(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const before = pointer.now;
    pointer.now = this.#point(event);
    // A hand is never quite still: a few dots are a click, more are a drag, wherever it began.
    if (!this.dragged && distance(pointer.start, pointer.now) < CLICK) return;
    if (!this.dragged) this.#grab(event.pointerId);
    if (this.pointers.size === 1) this.pan(pointer.now.x - before.x, pointer.now.y - before.y);
    else this.#pinch();
  }

  #grab(pointerId) {
    this.dragged = true;
    this.frame.setPointerCapture(pointerId);
    this.frame.classList.add("dragging");
  }

  #pinch() {
    const [a, b] = [...this.pointers.values()].map((pointer) => pointer.now);
    const apart = distance(a, b);
    if (this.spread) this.zoom(apart / this.spread, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
    this.spread = apart;
  }

  #up(event) {
    this.pointers.delete(event.pointerId);
    this.spread = 0;
    if (!this.pointers.size) this.frame.classList.remove("dragging");
  }

  #point(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}

const REST = 250;

// The element that the camera moves, with one transform. While it only moves, the browser keeps the
// painted layer and shifts it; after a zoom it paints sharp letters.
export class Layer {
  constructor(element) {
    this.element = element;
    this.scale = 0;
    this.moves = false;
    this.rest = 0;
  }

  put({ x, y, scale }) {
    this.#keep(this.scale === scale);
    this.scale = scale;
    this.element.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.#keep(false), REST);
  }

  close() {
    clearTimeout(this.rest);
  }

  #keep(moves) {
    if (this.moves === moves) return;
    this.moves = moves;
    this.element.classList.toggle("moving", moves);
  }
}

function distance(a, b) {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

// The buttons that every picture has.
export function cameraTools(camera, fit) {
  const button = (label, title, run) => el("button.icon", { title, "aria-label": title, onclick: run }, label);
  return [
    button("−", "Zoom out (-)", () => camera.zoom(1 / 1.25)),
    button("+", "Zoom in (+)", () => camera.zoom(1.25)),
    button("⤢", "Show all (0)", fit),
  ];
}
