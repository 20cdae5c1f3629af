// Anchors as a picture: areas of the system, what contains what, what rests on what. A click opens
// the area's lens.

import { call } from "../api.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { callText, head, nothing, several, teach, title } from "../parts.js";
import { redraw } from "../redraw.js";
import { lensParts } from "./map/lens.js";
import { picture } from "./map/picture.js";

export async function show(main, [wanted]) {
  const page = el("div", { class: "page" });
  const draw = async () => {
    redraw(page, await parts(wanted));
    if (!page.isConnected) replace(main, page);
  };
  return keepDrawn(
    draw,
    (event) =>
      event.type.startsWith("anchor") || event.type.startsWith("card") || event.topic === "tasks",
  );
}

async function parts(wanted) {
  const { anchors, has_more: more } = await call("anchors_list", { limit: 200 });
  if (wanted) title(wanted, "Map");
  if (!anchors.length) return [head("Map"), empty()];
  const lead = `${several(anchors.length, "area")}${more ? ", more are left out" : ""}. A dashed arrow leads to what an area rests on.`;
  return [
    head("Map", lead),
    el(
      "div",
      { class: "split", data: { key: "split", list: "" } },
      el(
        "div",
        {
          class: "map",
          data: { key: "map" },
          tabindex: "0",
          role: "region",
          "aria-label": "Map; scrolls",
        },
        picture(anchors, wanted),
      ),
      el(
        "aside",
        { class: "card lens", id: "lens", "aria-live": "polite", data: { key: "lens" } },
        wanted ? await lensParts(wanted) : nothing("Choose an area to see what is known about it."),
      ),
    ),
  ];
}

function empty() {
  return teach(
    "No anchor yet",
    "An anchor names an area of the system that knowledge hangs on: a component, a boundary, a contract. Tag a card with a:storage and it appears by itself, or register several:",
    callText("anchors_bootstrap", {
      anchors: [
        { id: "a:storage", title: "Storage", kind: "component" },
        { id: "a:web", title: "Web shop", kind: "boundary", depends_on: ["a:storage"] },
      ],
    }),
  );
}
