// Draws a part of the page again without disturbing the user (DOM morphing). The new tree is merged
// into the old one element by element: an equal element is kept, with its scroll position,
// selection and focus. Lists are matched by `data-key`. The state of unfolded sections is kept
// here, outside of the DOM; input is kept in drafts.js.
//
// An element with `data-own` is drawn by a script that keeps references to its parts (a graph): it
// is replaced as a whole if it differs, and its scroll position is preserved.

import { adopt, append, el } from "./dom.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";

const unfolded = new Map();

// An input whose text survives any redraw. `key` names it within the whole page; read it with
// `typed(key)`, since the element on the page may be older than the one created here.
export function draft(tag, key, attributes = {}) {
  /** @type {Record<string, any>} */
  const { oninput, ...rest } = attributes;
  const node = el(tag, {
    ...rest,
    data: { ...rest.data, draft: key },
    oninput: (event) => {
      keepDraft(key, event.currentTarget.value);
      oninput?.(event);
    },
  });
  node.value = draftOf(key) ?? "";
  return node;
}

export const typed = (key) => draftOf(key) ?? "";

export function forget(key) {
  dropDraft(key);
  const node = shownDraft(key);
  if (node) node.value = "";
}

const shownDraft = (key) =>
  /** @type {HTMLInputElement | null} */ (document.querySelector(`[data-draft="${CSS.escape(key)}"]`));

// A section that stays open or closed as the user left it.
export function fold(key, summary, ...children) {
  return el(
    "details",
    {
      data: { fold: key },
      open: unfolded.get(key) ?? false,
      ontoggle: (event) => unfolded.set(key, event.currentTarget.open),
    },
    el("summary", summary),
    children,
  );
}

// Replaces the old children with the new ones.
export function redraw(container, ...children) {
  const focus = focused(container);
  const wanted = append(document.createDocumentFragment(), children);
  reconcile(container, [...wanted.childNodes]);
  focus?.();
}

const keyOf = (node) => node.dataset?.key;

// Keyed children are matched by their key, the others in order by their type.
function reconcile(container, wanted) {
  const keyed = new Map(),
    plain = [];
  for (const child of container.childNodes) {
    const key = keyOf(child);
    if (key !== undefined) keyed.set(key, child);
    else plain.push(child);
  }
  const partner = (node) => {
    const key = keyOf(node);
    if (key !== undefined) return keyed.get(key);
    const at = plain.findIndex((child) => child.nodeName === node.nodeName);
    return at < 0 ? undefined : plain.splice(0, at + 1)[at];
  };
  const kept = wanted.map((node) => keep(partner(node), node));
  const stay = new Set(kept);
  for (const child of [...container.childNodes]) if (!stay.has(child)) child.remove();
  let at = container.firstChild;
  for (const node of kept) {
    if (node === at) at = at.nextSibling;
    else container.insertBefore(node, at);
  }
}

// Reuses the old node if possible, updated with the attributes and handlers of the new one.
function keep(old, node) {
  if (!old || old === node || old.nodeName !== node.nodeName || old.nodeType !== node.nodeType) return node;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== node.data) old.data = node.data;
    return old;
  }
  if (node.dataset.own !== undefined) return keepOwn(old, node);
  if (old.dataset.draft !== node.dataset.draft || old.id !== node.id) return node;
  adopt(old, node);
  dress(old, node);
  reconcile(old, [...node.childNodes]);
  if (node.nodeName === "SELECT" && old !== document.activeElement) old.value = node.value;
  return old;
}

function keepOwn(old, node) {
  if (old.isEqualNode(node)) return old;
  const moved = [old, ...old.querySelectorAll("*")]
    .filter((part) => part.scrollTop || part.scrollLeft)
    .map((part) => [pathTo(old, part), part.scrollLeft, part.scrollTop]);
  requestAnimationFrame(() => {
    for (const [path, left, top] of moved)
      path.reduce((part, index) => part?.children[index], node)?.scrollTo(left, top);
  });
  return node;
}

function pathTo(root, part) {
  const path = [];
  for (let at = part; at !== root; at = at.parentElement) path.unshift([...at.parentElement.children].indexOf(at));
  return path;
}

function dress(old, node) {
  // A heading that was given the focus would lose it together with its tabindex.
  const stays = (name) =>
    (name === "open" && node.dataset.fold === undefined) || (name === "tabindex" && old === document.activeElement);
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name) && !stays(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes)
    if (old.getAttribute(name) === value) continue;
    // The policy of the page forbids styles as text; a script may set them.
    else if (name === "style") old.style.cssText = node.style.cssText;
    else old.setAttribute(name, value);
  if (node.type === "checkbox" && old.checked !== node.checked) old.checked = node.checked;
}

// Restores the focus: to the same element if it still exists, else to its successor in the list,
// else to the part that was drawn. It never falls back to the page's body.
function focused(container) {
  const now = /** @type {HTMLElement} */ (document.activeElement);
  if (!container.contains(now) || now === container) return null;
  const { selectionStart, selectionEnd } = /** @type {HTMLInputElement} */ (now);
  const row = now.closest("[data-key]");
  const index = row ? [...row.parentElement.children].indexOf(row) : -1;
  const list = row?.parentElement;
  return () => {
    if (now === document.activeElement) return;
    if (container.contains(now)) return refocus(now, selectionStart, selectionEnd);
    const same = container.querySelector(sameAs(now));
    if (same) return refocus(same, selectionStart, selectionEnd);
    const near = list?.isConnected ? list.children[Math.min(index, list.children.length - 1)] : null;
    const target = near?.querySelector("a, button, input, [tabindex]") ?? near ?? container;
    if (!target.matches("a, button, input, [tabindex]")) target.tabIndex = -1;
    refocus(target);
  };
}

function sameAs(node) {
  if (node.dataset.draft) return `[data-draft="${CSS.escape(node.dataset.draft)}"]`;
  if (node.id) return `#${CSS.escape(node.id)}`;
  const key = node.closest("[data-key]")?.dataset.key;
  const act = node.dataset.act;
  return key && act ? `[data-key="${CSS.escape(key)}"] [data-act="${CSS.escape(act)}"]` : ":not(*)";
}

function refocus(node, start, end) {
  node.focus({ preventScroll: true });
  if (typeof start === "number" && node.setSelectionRange) node.setSelectionRange(start, end);
}
