// Unsent input: kept over redraws, errors, a closed dialog and a reload of the tab.

const KEY = "clew.drafts";
/** @type {Map<string, any>} */
const kept = new Map(read());

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

function write() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...kept]));
  } catch {
    /* a browser may forbid it; then drafts live as long as the page */
  }
}

export const draftOf = (key) => kept.get(key);

export function keepDraft(key, value) {
  kept.set(key, value);
  write();
}

export function dropDraft(key) {
  if (kept.delete(key)) write();
}
