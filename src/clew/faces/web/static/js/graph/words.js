// Words that fit into a box: measured, not counted, since an m is wider than an i.

const FACE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const pen = document.createElement("canvas").getContext("2d");
const known = new Map();
const KEPT = 4000;

function width(text, font) {
  const key = `${font}\n${text}`;
  let found = known.get(key);
  if (found === undefined) {
    pen.font = `${font} ${FACE}`;
    found = pen.measureText(text).width;
    if (known.size > KEPT) known.clear();
    known.set(key, found);
  }
  return found;
}

export const NAME = "600 13.5px",
  UNDER = "12px";

export const textWidth = width;

// As much of a text as fits; an ellipsis says that there was more.
export function fitted(text, room, font = NAME) {
  const plain = String(text ?? "").trim();
  if (width(plain, font) <= room) return plain;
  let low = 0,
    high = plain.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (width(`${plain.slice(0, middle).trimEnd()}…`, font) <= room) low = middle;
    else high = middle - 1;
  }
  return `${plain.slice(0, low).trimEnd()}…`;
}

// Two lines, broken between words where there is a space.
export function twoLines(text, room, font = NAME) {
  const plain = String(text ?? "")
    .trim()
    .replace(/\s+/g, " ");
  if (width(plain, font) <= room) return [plain, ""];
  let end = fitted(plain, room, font).length - 1;
  const space = plain.lastIndexOf(" ", end);
  if (space > 0) end = space;
  return [plain.slice(0, end).trimEnd(), fitted(plain.slice(end), room, font)];
}
