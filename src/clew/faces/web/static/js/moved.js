// Addresses of earlier versions, which named a page and no workspace, and where they lead now.

const MOVED = {
  home: () => ["inbox"],
  reasoning: (rest) => ["now", "session", ...rest],
  cards: (rest) => ["know", "cards", ...rest],
  work: ([id]) => (id ? ["now", "board", id] : ["now", "board"]),
  jobs: (rest) => ["now", "job", ...rest],
  map: (rest) => ["know", "areas", ...rest],
  memory: ([view = "recall", ...rest]) =>
    ({
      recall: ["know", "recall", ...rest],
      blocks: rest[0] ? ["o", rest[0]] : ["know", "lists"],
      review: ["inbox", ...rest],
      contradictions: ["inbox"],
      health: ["settings", "health"],
    })[view] ?? ["know"],
};

/**
 * Where an old address leads, or null for one that is none.
 * @param {string[]} words all parts of the address
 * @param {(workspace: string, place: string) => boolean} isNew
 */
export function movedTo(words, isNew) {
  const [page, ...rest] = words;
  // A workspace may be called "work": then the second part, which is a place, decides.
  if (!page || isNew(page, rest[0] ?? "")) return null;
  return MOVED[page]?.(rest) ?? null;
}
