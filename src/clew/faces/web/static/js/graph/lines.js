// Canvas drawing: lines between thoughts, the bars of lanes, and boxes when zoomed out.

import { laneHeight, NODE } from "./layout.js";

// The colours of the page as a canvas takes them: each is resolved once, for light or for dark.
export function colors(canvas) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) {
      canvas.style.color = `var(${name})`;
      known.set(name, getComputedStyle(canvas).color);
    }
    return known.get(name);
  };
}

export class Lines {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
  }

  // The canvas is larger than the window by a margin on each side, so that it can be shifted.
  begin({ x, y, scale, frame }, margin) {
    const width = frame.clientWidth + 2 * margin,
      height = frame.clientHeight + 2 * margin;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== width * ratio || this.canvas.height !== height * ratio) {
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
      Object.assign(this.canvas.style, {
        left: `${-margin}px`,
        top: `${-margin}px`,
        width: `${width}px`,
        height: `${height}px`,
      });
    }
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, width, height);
    this.pen.translate(x + margin, y + margin);
    this.pen.scale(scale, scale);
    this.color = colors(this.canvas);
  }

  bar(lane, x, y) {
    this.pen.fillStyle = this.color("--lane");
    this.pen.fillRect(x - 14, y, 3, laneHeight(lane));
  }

  box(record, x, y, isMarked) {
    this.pen.fillStyle = this.color(`--kind-${record.kind || "none"}`);
    this.pen.fillRect(x, y, NODE.width, NODE.height);
    if (!isMarked) return;
    this.pen.strokeStyle = this.color("--accent");
    this.pen.lineWidth = 14;
    this.pen.strokeRect(x, y, NODE.width, NODE.height);
  }

  next(from, to) {
    this.#line("--line", 2, []);
    connect(this.pen, from, to);
  }

  branch(from, to) {
    this.#line("--branch-line", 2, [6, 5]);
    connect(this.pen, from, to);
  }

  revision(from, to, isSelected) {
    this.#line("--revision-line", isSelected ? 3 : 1.5, [3, 4]);
    arc(this.pen, from, to);
  }

  #line(color, width, dash) {
    this.pen.strokeStyle = this.color(color);
    this.pen.lineWidth = width;
    this.pen.setLineDash(dash);
  }
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

// A revision is drawn as an arc over the thoughts in between.
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
