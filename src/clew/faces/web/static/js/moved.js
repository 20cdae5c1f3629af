// Addresses of earlier versions, which named a page and no workspace, and where they lead now.

const MOVED = {
  home: () => ["home"],
  reasoning: (rest) => ["now", "session", ...rest],
  cards: ([from, view, to]) => (view === "diff" ? ["know", "branches", from, to] : ["know", "lists"]),
  work: ([id]) => (id ? ["now", "board", id] : ["now", "board"]),
  jobs: (rest) => ["now", "job", ...rest],
  map: ([area]) => (area ? ["o", area] : ["know", "areas"]),
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
 * The new address of an old one, or null if it is not an old one.
 * @param {string[]} words all parts of the address
 * @param {(workspace: string, place: string) => boolean} isNew
 */
export function movedTo(words, isNew) {
  const [page, ...rest] = words;
  // A workspace may be called "work": then the second part, which is a place, decides.
  if (!page || isNew(page, rest[0] ?? "")) return null;
  return MOVED[page]?.(rest) ?? null;
}

// Removed places of a workspace, and where their content is now.
const RETIRED = {
  know: ([view, id, , to]) => {
    if (view === "areas" && id) return ["o", id];
    if (view !== "cards") return null;
    return to ? ["know", "branches", id, to] : ["know", "lists"];
  },
  history: ([view]) => (view === "log" ? ["home"] : null),
  insight: () => ["home"],
  agents: (rest) => ["home", "agents", ...rest],
};

/** The new address of a removed place within its workspace, or null. */
export const retiredTo = (place, parts) => RETIRED[place]?.(parts) ?? null;
