// The nine kinds of thoughts in the cipher: letter, name, colour class.

export const KINDS = {
  H: "hypothesis",
  E: "evidence",
  C: "conclusion",
  Q: "question",
  R: "revision",
  P: "plan",
  O: "observation",
  A: "assumption",
  X: "rejected",
};

// The words of a thought without the notation in front of them.
export function plainText(text) {
  return String(text ?? "").replace(/^\s*S\d+\s*\|\s*[A-Z]?\s*\|(\s*[^|]{0,40}\|)?\s*/, "");
}
