// Scroll positions of all scrollable elements, stored for each entry of the browser's history, so
// that Back restores them and a link leads to the top.

const KEPT = 100;
const places = new Map();
let entry = "";

// Called when the address changed. Returns the stored positions of this entry; null for a new one.
export function arrive() {
  const known = history.state?.entry;
  entry = known ?? `${Date.now()}-${Math.random()}`;
  if (!known) history.replaceState({ ...history.state, entry }, "");
  return known ? (places.get(entry) ?? new Map()) : null;
}

const scrollers = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#main, #main [data-scroll]")]);

// Positions are stored as they change: after a change of the address the elements may be gone.
export function follow(main) {
  main.addEventListener(
    "scroll",
    (event) => {
      const name = nameOf(event.target);
      if (!name || !entry) return;
      if (!places.has(entry)) places.set(entry, new Map());
      places.get(entry).set(name, [event.target.scrollLeft, event.target.scrollTop]);
      if (places.size > KEPT) places.delete(places.keys().next().value);
    },
    { capture: true, passive: true },
  );
}

const nameOf = (node) => (node.id === "main" ? "main" : node.dataset?.scroll);

export function restore(kept) {
  for (const node of scrollers()) {
    const [left, top] = kept?.get(nameOf(node)) ?? [0, 0];
    if (kept || nameOf(node) === "main") node.scrollTo({ left, top, behavior: "instant" });
  }
}
