// The focus never falls back to the page's body. If the focused element is removed, hidden or
// disabled, its container gets the focus, so that Tab continues from there.

/** @type {Element[]} the focused element and its ancestors */
let path = [];

export function keepFocus() {
  document.addEventListener("focusin", ({ target }) => {
    path = upwards(/** @type {Element} */ (target));
  });
  // A click outside of any element clears the focus.
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (!relatedTarget && isUsable(/** @type {Element} */ (target))) path = [];
  });
  new MutationObserver(check).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["hidden", "disabled"],
  });
}

function upwards(node) {
  const found = [];
  for (let at = node; at && at !== document.body; at = at.parentElement) found.push(at);
  return found;
}

const isUsable = (node) => node.isConnected && node.checkVisibility() && !node.disabled;

function check() {
  const now = document.activeElement;
  if (!path.length || (now && now !== document.body)) return;
  if (isUsable(path[0])) return;
  const near = /** @type {HTMLElement} */ (path.find(isUsable) ?? document.getElementById("main"));
  if (!near.matches("a, button, input, select, textarea, summary, [tabindex]")) near.tabIndex = -1;
  near.focus({ preventScroll: true });
}
