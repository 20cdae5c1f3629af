// The areas of the system as a table with bars: the number of records in each, open and disputed
// ones, and the last change. Its name leads to the area, its bar to its records.

import { call } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { keepDrawn } from "../news.js";
import { badge, card, head, several, teach } from "../parts.js";
import { redraw } from "../redraw.js";
import { link, objectLink } from "../router.js";

const PAUSE = 1_500;
const matters = (event) => !["system", "ledger", "jobs"].includes(event.topic);

export async function show(main) {
  const body = el("div#areas.page.areas");
  const draw = async () => {
    const found = await call("area_heat", { limit: 200, files: 40, max_chars: 400_000 });
    redraw(body, [head("Areas", lead(found)), ...layout(found)]);
    if (!body.isConnected) replace(main, body);
  };
  return keepDrawn(draw, matters, PAUSE);
}

function lead({ areas, areas_total: total }) {
  const more = total > areas.length ? `, the first ${areas.length} are shown` : "";
  return total ? `${several(total, "area")}${more}` : "";
}

const layout = ({ areas, files }) => [
  areas.length ? card("Areas of the system", { id: "areas-card" }, areaTable(areas)) : empty(),
  files.length ? fileTable(files) : null,
];

// Each area below the one that it is part of; those of which most is known first.
function ordered(areas) {
  const known = new Set(areas.map(({ id }) => id));
  const inside = Map.groupBy(areas, ({ parent_id: parent }) => (known.has(parent) ? parent : ""));
  const placed = new Set();
  const below = (parent, depth) =>
    (inside.get(parent) ?? [])
      .toSorted((a, b) => b.holds - a.holds || (a.title < b.title ? -1 : 1))
      .filter(({ id }) => !placed.has(id) && placed.add(id))
      .flatMap((area) => [{ ...area, depth }, ...below(area.id, depth + 1)]);
  const tree = below("", 0);
  return [...tree, ...areas.filter(({ id }) => !placed.has(id)).map((one) => ({ ...one, depth: 0 }))];
}

function areaTable(areas) {
  const most = Math.max(1, ...areas.map(({ holds }) => holds));
  return table(
    "area-table",
    ["Area", "Known", "Open", "Disputed", "In work", "Last"],
    ordered(areas).map((area) => [
      area.id,
      [
        indented(area),
        bar(area, most, link("know", "lists", { area: area.id })),
        area.open || "",
        area.disputed ? badge(String(area.disputed), "bad") : "",
        area.work || "",
        area.newest_ms ? ago(area.newest_ms) : "never",
      ],
    ]),
  );
}

const indented = (area) =>
  el("a.area-name", { href: objectLink(area.id), data: { depth: Math.min(area.depth, 4) } }, shorten(area.title, 60));

function fileTable(files) {
  const most = Math.max(1, ...files.map(({ holds }) => holds));
  return card(
    "Files",
    { id: "files" },
    table(
      "file-table",
      ["File", "Known", "Last"],
      files.map((file) => {
        const list = link("know", "lists", { words: file.path });
        const name = el("a", { href: list }, shorten(file.path, 80));
        const last = file.newest_ms ? ago(file.newest_ms) : "never";
        return [file.path, [name, bar({ ...file, title: file.path }, most, list), last]];
      }),
    ),
  );
}

// The number of records as a bar, with the number next to it.
function bar({ holds, title: name }, most, href) {
  return el(
    "a.known",
    { href, "aria-label": `${several(holds, "record")} about ${name}` },
    el("progress", { max: most, value: holds, "aria-hidden": "true" }),
    el("span", String(holds)),
  );
}

function table(id, heads, rows) {
  const whole = el(
    "table.table.heat-table",
    { id },
    el(
      "thead",
      el(
        "tr",
        heads.map((words) => el("th", { scope: "col" }, words)),
      ),
    ),
    el(
      "tbody",
      rows.map(([key, [name, ...cells]]) =>
        el(
          "tr",
          { key, data: { row: key } },
          el("th", { scope: "row" }, name),
          cells.map((cell) => el("td", cell)),
        ),
      ),
    ),
  );
  return el("div.wide", { key: id }, whole);
}

const empty = () =>
  teach(
    "No areas yet",
    "An area is a part of the system that knowledge hangs on, such as Storage or Web shop. It appears when an agent files a record under it.",
  );
