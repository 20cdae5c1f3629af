// Pan and zoom: wheel, drag, pinch, keys and buttons, all ending in one transform.

const SMALLEST = 0.05, LARGEST = 2;

export class Camera {
  constructor(frame, onMove) {
    this.frame = frame;
    this.onMove = onMove;
    this.x = 40;
    this.y = 40;
    this.scale = 1;
    this.#listen();
  }

  // What of the picture is visible, in its own coordinates.
  view(margin = 0) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    return {
      left: (-this.x - margin) / this.scale, top: (-this.y - margin) / this.scale,
      right: (width - this.x + margin) / this.scale, bottom: (height - this.y + margin) / this.scale,
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

  fit(width, height) {
    const scale = Math.min(this.frame.clientWidth / (width + 80), this.frame.clientHeight / (height + 80), 1);
    this.scale = Math.max(SMALLEST, scale);
    this.x = Math.max(20, (this.frame.clientWidth - width * this.scale) / 2);
    this.y = 30;
    this.onMove();
  }

  #listen() {
    const pointers = new Map();
    let spread = 0;
    this.frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), this.#point(event));
      else this.pan(-event.deltaX, -event.deltaY);
    }, { passive: false });
    this.frame.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button, a, .node")) return;
      pointers.set(event.pointerId, this.#point(event));
      this.frame.setPointerCapture(event.pointerId);
    });
    this.frame.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) return;
      const before = pointers.get(event.pointerId), now = this.#point(event);
      pointers.set(event.pointerId, now);
      if (pointers.size === 1) return this.pan(now.x - before.x, now.y - before.y);
      const [a, b] = [...pointers.values()];
      const distance = Math.hypot(a.x - b.x, a.y - b.y);
      if (spread) this.zoom(distance / spread, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
      spread = distance;
    });
    for (const end of ["pointerup", "pointercancel"]) {
      this.frame.addEventListener(end, (event) => { pointers.delete(event.pointerId); spread = 0; });
    }
  }

  #point(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}
