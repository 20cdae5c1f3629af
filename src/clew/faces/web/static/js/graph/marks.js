// Short marks of texts and of sequences: equal things, equal marks; the mark of a sequence grows
// with it.

export function textMark(text) {
  let mark = 2166136261;
  for (let i = 0; i < text.length; i++) mark = Math.imul(mark ^ text.charCodeAt(i), 16777619);
  return mark >>> 0;
}

export function mixed(before, next) {
  let mark = Math.imul(before ^ (next + 0x9e3779b9), 2654435761);
  mark = Math.imul(mark ^ (mark >>> 15), 2246822519);
  return (mark ^ (mark >>> 13)) >>> 0;
}
