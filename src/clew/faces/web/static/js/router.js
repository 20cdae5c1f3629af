// `#/page/part/part`: which page is shown, and what of it.

export function place() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  return { page: parts[0] || "home", parts: parts.slice(1) };
}

// An address that somebody mistyped still leads somewhere.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(page, ...parts) {
  const words = [page, ...parts].map((part) => encodeURIComponent(String(part)));
  return `#/${words.join("/")}`;
}

export function go(page, ...parts) {
  location.hash = link(page, ...parts);
}
