// Addresses: `#/WORKSPACE/PLACE/part/part?key=value`. A workspace may hold a slash, so each part is
// encoded.

import { state } from "./state.js";

/**
 * @typedef {{workspace: string, place: string, parts: string[], query: URLSearchParams}} Address
 * @param {string} hash
 * @returns {Address}
 */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [workspace = "", place = "", ...parts] = path.split("/").filter(Boolean).map(decoded);
  return { workspace, place, parts, query: new URLSearchParams(query) };
}

export const address = () => parse(location.hash);

// A malformed address is used as it is.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The address of a place in the current workspace. A last argument that is an object becomes the
// query, without empty values.
export function link(place, ...parts) {
  return linkIn(state.workspace, place, ...parts);
}

export function linkIn(workspace, place = "home", ...parts) {
  const last = parts.at(-1);
  const query = last !== null && typeof last === "object" ? parts.pop() : {};
  const words = [workspace, place, ...parts].map((part) => encodeURIComponent(String(part)));
  const asked = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const tail = asked.length ? `?${new URLSearchParams(Object.fromEntries(asked))}` : "";
  return `#/${words.join("/")}${tail}`;
}

// The address of any record; it opens in the panel next to the view.
export const objectLink = (id) => link("o", id);

export function go(place, ...parts) {
  location.hash = link(place, ...parts);
}

// Replaces the address without navigating: a filter, a selected row. Ignored for a view that was
// left while it waited for a response.
export function rewrite(href) {
  const to = parse(href),
    here = address();
  if (to.place !== here.place || to.workspace !== here.workspace) return;
  history.replaceState(history.state, "", href);
}
