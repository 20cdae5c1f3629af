// The kinds of thoughts in the cipher: letter and name.
export { THOUGHT_KINDS as KINDS } from "../facts.js";

// The words of a thought without the notation in front of them.
export function plainText(text) {
  return String(text ?? "").replace(/^\s*S\d+\s*\|\s*[A-Z]?\s*\|(\s*[^|]{0,40}\|)?\s*/, "");
}
