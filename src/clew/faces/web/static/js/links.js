// How records are linked, in words, for either direction.

const TOWARDS = {
  part_of: "belongs to",
  rests_on: "rests on",
  derives: "follows from",
  about: "is about",
  supersedes: "replaces",
  superseded_by: "replaced by",
  refers: "refers to",
};
const BACK = {
  part_of: "parts",
  rests_on: "what rests on it",
  derives: "what follows from it",
  supports: "supported by",
  proves: "proven by",
  about: "about it",
  answers: "answered by",
  replaces: "replaced by",
  supersedes: "replaced by",
  superseded_by: "replaces",
  blocks: "blocked by",
  depends_on: "needed by",
  contradicts: "contradicted by",
  mentions: "mentioned by",
  refers: "referred to by",
  revises: "revised by",
  repeats: "repeated by",
};

/** @param {string} rel @param {boolean} back whether it is said from the record that is pointed at */
export const relWords = (rel, back = false) => (back ? BACK : TOWARDS)[rel] ?? rel.replaceAll("_", " ");
