"""The layout by itself, in the browser that runs it: growing, scrubbing and loading all lead to the same picture."""

from __future__ import annotations

import pytest

from tests.browser.chromium import Page

# Builds sessions of pseudo-random shape. Each is grown thought by thought; now and then the grown layout is compared
# with one that was laid out at once, and what a view holds with what a walk over all thoughts finds.
GROW = """
const [seed, size, columns, done] = arguments;
(async () => {
  const { SessionModel } = await import("/static/js/graph/model.js");
  const { Layout, NODE } = await import("/static/js/graph/layout.js");
  let state = seed;
  const random = (below) => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return (state >>> 8) % below; };
  const model = new SessionModel({ id: "s" });
  const chains = new Map([["", 0]]);
  const folded = new Set(["b2", "b5"]);
  const problems = [], digests = new Map();
  const grown = new Layout(model, { columns, folded, count: null });

  function thought(seq) {
    const names = [...chains.keys()];
    const from = names[random(names.length)];
    if (seq > 2 && random(9) === 0 && chains.get(from)) {
      const name = `b${chains.size}`;
      chains.set(name, 1);
      const origin = { branchFromThought: 1 + random(chains.get(from)), branchFromBranch: from || undefined };
      return { seq, thoughtNumber: 1, branchId: name, ...origin };
    }
    const chain = seq === 1 ? "" : from;
    chains.set(chain, chains.get(chain) + 1);
    const revised = random(7) === 0 ? { isRevision: true, revisesThought: 1, revisesBranch: chain || undefined } : {};
    return { seq, thoughtNumber: chains.get(chain), branchId: chain || undefined, type: "HEQ"[random(3)], ...revised };
  }

  function compare(other, count) {
    for (const record of model.order.slice(0, count)) {
      const [a, b] = [grown.place(record), other.place(record)].map((at) => JSON.stringify(at));
      if (a !== b) problems.push(`${count}: ${record.id} at ${a} and ${b}`);
    }
    for (const name of ["digest", "height", "width", "shown"]) {
      if (grown[name] !== other[name]) problems.push(`${count}: ${name} ${grown[name]} ${other[name]}`);
    }
  }

  function look(count) {
    const top = random(Math.ceil(grown.height) + 1) - 100, left = random(700) - 100;
    const view = { top, bottom: top + 100 + random(900), left, right: left + 300 };
    const inside = (at) => at && at.y + NODE.height >= view.top && at.y <= view.bottom
      && at.x + NODE.width >= view.left && at.x <= view.right;
    const wanted = model.order.filter((record) => inside(grown.place(record))).map((record) => record.id).sort();
    const seen = [];
    grown.visit(view, (lane, place, x, y) => {
      const record = model.at(lane.name, place), at = grown.place(record);
      if (at.x !== x || at.y !== y) problems.push(`${count}: ${record.id} at ${x},${y}, not ${at.x},${at.y}`);
      seen.push(record.id);
    });
    if (JSON.stringify(seen.sort()) !== JSON.stringify(wanted)) problems.push(`${count}: sees ${seen} of ${wanted}`);
  }

  for (let seq = 1; seq <= size; seq++) {
    grown.grow(model.add(thought(seq)));
    digests.set(seq, grown.digest);
    if (seq % 17 === 0) { compare(new Layout(model, { columns, folded, count: null }), seq); look(seq); }
  }
  for (const [count, digest] of digests) {
    const then = new Layout(model, { columns, folded, count });
    if (then.digest !== digest) problems.push(`${count}: then ${digest}, now ${then.digest}`);
  }
  if (new Set(digests.values()).size !== size) problems.push("two pictures have one digest");
  done(problems.slice(0, 5));
})().catch((problem) => done([String(problem.stack)]));
"""


@pytest.mark.parametrize(("seed", "columns"), [(1, 1), (2, 3), (3, 5), (4, 12)])
def test_a_picture_depends_only_on_what_it_shows(page: Page, seed: int, columns: int) -> None:
    page.open("home")
    assert page.driver.execute_async_script(GROW, seed, 600, columns) == []
