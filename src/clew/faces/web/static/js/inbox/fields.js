// A merge conflict field by field: for each field that differs, ours or theirs, and the common
// base. Equal fields are not shown.

import { el } from "../dom.js";
import { badge } from "../parts.js";
import { choiceOf, differingFields, textOf } from "./conflict.js";

export function fieldChoice(item, conflict) {
  if (!item.facts.mixes) return wholeSides(conflict);
  return el(
    "section.part",
    { key: "fields" },
    el("h3", "What differs"),
    differingFields(conflict).map((name) => fieldPart(item, conflict, name)),
  );
}

function fieldPart(item, conflict, name) {
  const { ours, theirs, base } = conflict;
  const sides = [
    ["ours", `on ${conflict.into}`, ours],
    ["theirs", `on ${conflict.from}`, theirs],
  ];
  return el(
    "fieldset.choice",
    { key: name, data: { field: name } },
    el("legend", name),
    sides.map(([side, words, state]) => sideLabel(item, name, side, words, textOf(state[name]))),
    base && textOf(base[name]) ? el("p.quiet", { data: { side: "base" } }, `before: ${textOf(base[name])}`) : null,
  );
}

function sideLabel(item, name, side, words, said) {
  const choice = choiceOf(item.id);
  const radio = el("input", {
    type: "radio",
    name: `${item.id} ${name}`,
    value: side,
    checked: (choice[name] ?? "ours") === side,
    onchange: () => {
      choice[name] = side;
    },
  });
  return el("label", { data: { side } }, radio, el("span.quiet", `${words} `), said || "–");
}

// One side removed it, or it is a link: then one whole state is taken.
function wholeSides({ from, into, ours, theirs }) {
  const side = (words, state) =>
    el(
      "p",
      { key: words },
      `On ${words}: `,
      !state ? "not there" : state.deleted ? badge("removed", "bad") : "changed",
    );
  return el("section.part", side(from, theirs), side(into, ours));
}
