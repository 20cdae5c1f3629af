// Calls go through the same operations that agents use.

import { state } from "./state.js";

export class Refused extends Error {
  constructor(error, envelope) {
    super(error.message);
    this.code = error.code;
    this.recovery = error.recovery;
    this.envelope = envelope;
  }
}

// The key that the server returned at the login. Unlike a cookie, storage is separate for each
// origin with its port.
const KEY = "clew-key";
export const pageKey = () => localStorage.getItem(KEY) ?? "";
export const keepKey = (key) => localStorage.setItem(KEY, key);

export async function send(path, body) {
  const response = await reach(path, {
    method: body === undefined ? "GET" : "POST",
    headers:
      body === undefined
        ? { "x-clew-key": pageKey() }
        : {
            "content-type": "application/json",
            "x-clew-page": "1",
            "x-clew-key": pageKey(),
          },
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  const answer = await response.json().catch(() => ({}));
  // The token was changed, or the server was restarted: then the page asks for it again.
  if (response.status === 401 && path !== "/page/login") window.dispatchEvent(new Event("clew-locked"));
  if (!response.ok)
    throw new Refused({
      code: String(response.status),
      message: answer.error ?? response.statusText,
    });
  return answer;
}

export class Unreachable extends Error {}

async function reach(path, request) {
  try {
    return await fetch(path, request);
  } catch {
    throw new Unreachable("The server does not answer. This page goes on by itself when it does.");
  }
}

// The event numbers written by the calls of one action: undo uses them to undo exactly this,
// whatever others wrote since. Reads write no events, so they add nothing.
/** @type {number[] | null} */
let writes = null;
export async function recorded(run) {
  const before = writes;
  /** @type {number[]} */
  const events = [];
  writes = events;
  try {
    return { result: await run(), events };
  } finally {
    writes = before;
  }
}

// Undoes what was written, the last first. A person may undo what an agent wrote, too.
export async function undoWrites(events) {
  for (const event of [...events].reverse()) await call("undo", { event: String(event) });
}

// Returns the whole response envelope of an operation.
export async function envelope(name, args = {}) {
  const known = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined && value !== null));
  const answer = await send("/page/call", {
    name,
    arguments: { workspace: state.workspace, ...known },
  });
  if (answer.written) writes?.push(answer.written);
  if (!answer.success) throw new Refused(answer.error, answer);
  return answer;
}

// Returns the result of an operation.
export async function call(name, args = {}) {
  return (await envelope(name, args)).result;
}

// Returns the result, or null if the requested object does not exist here.
export async function tryCall(name, args = {}) {
  try {
    return await call(name, args);
  } catch (problem) {
    if (problem instanceof Refused) return null;
    throw problem;
  }
}

export function knows(name) {
  return state.operations.has(name);
}
