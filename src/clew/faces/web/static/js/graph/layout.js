// Where everything stands. A chain runs like a snake: one row to the right, the next one back to the left, so that
// neighbours always touch. Under the row in which a branch starts lies the lane of that branch, and so on inside it.

export const NODE = { width: 216, height: 92, gapX: 36, gapY: 30 };
const LANE = { header: 30, indent: 28, after: 18 };
const STEP_X = NODE.width + NODE.gapX;
const STEP_Y = NODE.height + NODE.gapY;

export function columnsFor(width) {
  return Math.max(1, Math.min(12, Math.floor((width - 60) / STEP_X)));
}

// chains: Map(name -> thoughts in order); origin(name) -> id of the fork point; folded: Set of names.
export function layout(chains, { columns, origin, folded }) {
  const placed = new Map();
  const lanes = [];
  const forks = new Map();
  for (const name of chains.keys()) {
    if (name === "") continue;
    const from = origin(name) ?? "";
    if (!forks.has(from)) forks.set(from, []);
    forks.get(from).push(name);
  }
  const drawn = new Set();
  let width = 0;

  function lay(name, x, y, count) {
    drawn.add(name);
    const thoughts = chains.get(name) ?? [];
    let top = y;
    for (let start = 0, row = 0; start < thoughts.length; start += count, row++) {
      const part = thoughts.slice(start, start + count);
      const back = row % 2 === 1;
      part.forEach((thought, index) => {
        const column = back ? count - 1 - index : index;
        placed.set(thought.id, { x: x + column * STEP_X, y: top, back, chain: name });
        width = Math.max(width, x + column * STEP_X + NODE.width);
      });
      top += STEP_Y;
      for (const thought of part) for (const branch of forks.get(thought.id) ?? []) top = lane(branch, x, top, count);
    }
    return top;
  }

  function lane(name, x, top, count) {
    if (drawn.has(name)) return top;
    const thoughts = chains.get(name);
    const shut = folded.has(name);
    const place = { name, x: x + LANE.indent, y: top, count: thoughts.length, folded: shut, height: LANE.header };
    lanes.push(place);
    drawn.add(name);
    if (shut) return top + LANE.header + LANE.after;
    const end = lay(name, place.x, top + LANE.header, count);
    place.height = end - top - NODE.gapY + 8;
    return end + LANE.after;
  }

  let bottom = lay("", 0, 0, columns);
  // A branch whose fork point is not shown (yet) stands at the end rather than nowhere.
  for (const name of chains.keys()) if (!drawn.has(name)) bottom = lane(name, 0, bottom, columns);
  return { placed, lanes, width: Math.max(width, NODE.width), height: bottom };
}

// A short mark of a picture: equal pictures, equal marks.
export function digest(picture) {
  let hash = 2166136261;
  const add = (text) => {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  };
  for (const [id, at] of picture.placed) add(`${id}@${at.x},${at.y};`);
  for (const lane of picture.lanes) add(`${lane.name}@${lane.x},${lane.y},${lane.folded};`);
  return hash.toString(16).padStart(8, "0");
}
