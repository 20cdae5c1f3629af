// Draws a part of the page again without disturbing whoever uses it: what did not change stays the
// same element, what is being typed and what was unfolded is kept here, outside of what is drawn,
// and the focus returns to where it was.

import { append, el } from "./dom.js";

const drafts = new Map();
const unfolded = new Map();

// An input whose text survives any redraw. `key` names it within the whole page.
export function draft(tag, key, attributes = {}) {
  const node = el(tag, {
    ...attributes,
    data: { ...attributes.data, draft: key },
    oninput: () => drafts.set(key, node.value),
  });
  node.value = drafts.get(key) ?? "";
  return node;
}

export function forget(key) {
  drafts.delete(key);
}

// A section that stays open or shut as its reader left it.
export function fold(key, summary, ...children) {
  const node = el(
    "details",
    {
      data: { fold: key },
      open: unfolded.get(key) ?? false,
      ontoggle: () => unfolded.set(key, node.open),
    },
    el("summary", {}, summary),
    children,
  );
  return node;
}

// Puts the children in place of the old ones; those with the same `data-key` that look the same
// stay.
export function redraw(container, ...children) {
  const focus = focused(container);
  const wanted = append(document.createDocumentFragment(), children);
  reconcile(container, [...wanted.childNodes]);
  focus?.();
}

// The same for a single element that is on the page.
export function swap(old, node) {
  const focus = focused(old);
  const kept = keep(old, node);
  if (kept !== old) old.replaceWith(kept);
  focus?.();
}

function reconcile(container, wanted) {
  const known = new Map(
    [...container.children]
      .filter((child) => child.dataset.key)
      .map((child) => [child.dataset.key, child]),
  );
  const kept = wanted.map((node) => keep(known.get(node.dataset?.key), node));
  const stay = new Set(kept);
  for (const child of [...container.childNodes]) if (!stay.has(child)) child.remove();
  kept.forEach((node, index) => {
    if (container.childNodes[index] !== node)
      container.insertBefore(node, container.childNodes[index] ?? null);
  });
}

// The old element where it will do. A list is gone through item by item, so that a new item leaves
// the others alone.
function keep(old, node) {
  if (!old || old.tagName !== node.tagName) return node;
  if (old.isEqualNode(node)) return old;
  if (node.dataset.list === undefined) return node;
  for (const name of ["class", "id", "aria-label", "data-status"])
    if (node.hasAttribute(name)) old.setAttribute(name, node.getAttribute(name));
  reconcile(old, [...node.childNodes]);
  return old;
}

function focused(container) {
  const now = /** @type {HTMLInputElement} */ (document.activeElement);
  if (!container.contains(now) || now === container) return null;
  const selector = now.dataset.draft
    ? `[data-draft="${CSS.escape(now.dataset.draft)}"]`
    : now.id
      ? `#${CSS.escape(now.id)}`
      : null;
  if (!selector) return null;
  const { selectionStart, selectionEnd } = now;
  return () => {
    /** @type {HTMLInputElement | null} */
    const then = container.querySelector(selector);
    if (!then || then === document.activeElement) return;
    then.focus({ preventScroll: true });
    if (typeof selectionStart === "number") then.setSelectionRange(selectionStart, selectionEnd);
  };
}
