// Two statements with the words marked that only one of them has, found as a longest common
// subsequence of words. If they share too little, marks would be everywhere and useless.

import { el } from "./dom.js";

const MOST = 600;
const SHARED = 0.3;

const words = (text) => String(text ?? "").split(/(\s+)/);
const plain = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/**
 * @param {string} before
 * @param {string} after
 * @returns {[any[], any[]]} both texts as parts: plain words, and elements around the differences
 */
export function marked(before, after) {
  const one = words(before),
    other = words(after);
  const [kept, keptOther] = common(one, other);
  const all = Math.min(one.filter(isWord).length, other.filter(isWord).length);
  if (one.length > MOST || other.length > MOST || kept.size < all * SHARED) return [[before], [after]];
  return [parts(one, kept, "del"), parts(other, keptOther, "ins")];
}

const isWord = (part) => part.trim() !== "";

function parts(texts, kept, tag) {
  return texts.map((text, at) => (isWord(text) && !kept.has(at) ? el(tag, text) : text));
}

// The positions of the words that both have in the same order.
function common(one, other) {
  const left = places(one),
    right = places(other);
  if (left.length > MOST || right.length > MOST) return [new Set(), new Set()];
  const length = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      length[i][j] =
        left[i].word === right[j].word ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const kept = new Set(),
    keptOther = new Set();
  for (let i = 0, j = 0; i < left.length && j < right.length; )
    if (left[i].word === right[j].word) {
      kept.add(left[i++].at);
      keptOther.add(right[j++].at);
    } else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  return [kept, keptOther];
}

const places = (texts) => texts.map((text, at) => ({ word: plain(text), at })).filter(({ at }) => isWord(texts[at]));

// Old and new on one line.
export function changed(before, after) {
  const [was, is] = marked(before, after);
  return [el("span.was", was), el("span.arrow", { "aria-label": "becomes" }, " → "), el("span.is", is)];
}
