// Shared state of the page: the server, the current workspace, the signed-in person.

export const state = {
  workspace: "",
  workspaces: [],
  operations: new Set(),
  version: "",
  home: "",
  /** The path of the project of the server's own workspace, and the name of that workspace. */
  project: "",
  own: "",
  command: "clew",
  connect: [],
  /** The clients that wrote here, such as claude-code. @type {string[]} */
  clients: [],
  assets: "",
  locked: false,
  guarded: false,
  person: "",
};

export function remembered(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(`clew.${key}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`clew.${key}`, JSON.stringify(value));
  } catch {
    /* a browser may forbid it; then nothing is stored */
  }
}
