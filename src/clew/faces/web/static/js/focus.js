// The focus never falls to the page's body. Where the element that had it goes away, is hidden or
// can no longer be used, what stood around it takes it, so that Tab goes on from there.

/** @type {Element[]} the element that has the focus, and what it stands in */
let path = [];

export function keepFocus() {
  document.addEventListener("focusin", ({ target }) => {
    path = upwards(/** @type {Element} */ (target));
  });
  // Who presses beside everything wants no focus, and gets none.
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
