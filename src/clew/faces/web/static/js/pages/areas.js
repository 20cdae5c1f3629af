// The areas of the system as a heat map: of which much or little is known, how fresh, what is open
// there. Beside it the same as a table, with the files that records name; an area that is pressed
// narrows what stands there to its own records.

import { call } from "../api.js";
import { ago, el, replace, shorten } from "../dom.js";
import { Field, highlight } from "../graph/field.js";
import { keepDrawn } from "../news.js";
import { callText, head, several, teach, title } from "../parts.js";
import { redraw } from "../redraw.js";
import { link } from "../router.js";
import { LEGENDS, SCALES } from "./areas/heat.js";
import { lensParts } from "./areas/lens.js";
import { arrange, shapes } from "./areas/picture.js";

const PAUSE = 1_500;

export async function show(main, [wanted = ""], query) {
  const view = new Areas(main, wanted, query);
  const end = await keepDrawn(() => view.look(), matters, PAUSE);
  return {
    end: () => {
      view.field.close();
      end();
    },
    move: ([other = ""], changed) => view.go(other, changed),
  };
}

const matters = (event) => !["system", "ledger", "jobs"].includes(event.topic);

class Areas {
  constructor(main, wanted, query) {
    this.main = main;
    this.turn = 0;
    this.read(wanted, query);
    this.head = el("div", { class: "full-head" });
    this.side = el("aside", {
      class: "full-side",
      id: "lens",
      "aria-label": "Areas in words",
      "aria-live": "polite",
      data: { scroll: "lens" },
    });
    this.field = new Field({
      id: "map",
      label: "Map of areas",
      name: "areas",
      onPick: (id) => {
        location.hash = this.href({ wanted: id === this.wanted ? "" : id });
      },
    });
    this.legend = el("ul", { class: "heat-legend", "aria-label": "Colours" });
    this.field.frame.append(this.legend);
    const stage = el("div", { class: "full-stage" }, this.field.frame);
    this.page = el("div", { class: "full" }, this.head, stage, this.side);
  }

  read(wanted, query) {
    this.wanted = wanted;
    const by = query.get("by");
    this.by = SCALES.some(([name]) => name === by) ? by : "known";
  }

  href({ wanted = this.wanted, by = this.by }) {
    return link("know", "areas", ...(wanted ? [wanted] : []), { by: by === "known" ? "" : by });
  }

  async look() {
    const found = await call("area_heat", { limit: 200, files: 60, max_chars: 400_000 });
    await this.draw(found);
  }

  // The same map, another area or another colour: nothing has to be asked but the area's own lens.
  async go(wanted, query) {
    this.read(wanted, query);
    if (this.found) await this.draw(this.found);
  }

  async draw(found) {
    this.found = found;
    title(this.wanted ? (this.named(this.wanted)?.title ?? this.wanted) : "Areas", "Know");
    if (!found.areas.length && !found.files.length) return void replace(this.main, empty());
    const mine = ++this.turn;
    const side = this.wanted
      ? await lensParts(this.wanted, this.href({ wanted: "" }), this.titles())
      : tables(found);
    if (mine !== this.turn) return;
    redraw(this.head, this.headParts());
    redraw(this.side, side);
    redraw(this.legend, this.legendParts());
    this.page.classList.toggle("no-map", !found.areas.length);
    if (!this.page.isConnected) replace(this.main, this.page);
    this.picture();
  }

  picture() {
    const layout = arrange(this.found.areas);
    const first = this.wanted || this.found.areas[0]?.id;
    this.field.draw(layout, layout.spots, shapes(this.field, layout, this.by), first);
    const edges = this.found.areas.flatMap(({ id, depends_on: on }) =>
      on.map((to) => ({ from: id, to })),
    );
    this.field.chosen = this.wanted;
    highlight(this.field.plane, this.wanted, edges);
    this.field.plane.classList.remove("lit");
    if (this.wanted) {
      this.field.stand(this.wanted);
      this.field.reveal(this.wanted);
    }
  }

  legendParts() {
    return LEGENDS[this.by].map((words, level) =>
      el("li", {}, el("i", { class: `heat-${level}`, "aria-hidden": "true" }), words),
    );
  }

  titles() {
    return new Map(this.found.areas.map(({ id, title }) => [id, title]));
  }

  named(id) {
    return this.found.areas.find((area) => area.id === id);
  }

  headParts() {
    const { areas, areas_total: total } = this.found;
    const left = total > areas.length ? `; ${total - areas.length} more are left out` : "";
    return [
      el(
        "div",
        { data: { key: "words" } },
        el("h1", {}, "Areas"),
        el(
          "p",
          { class: "quiet" },
          `${several(areas.length, "area")}${left}. ${SCALES.find(([name]) => name === this.by)[2]}. A dashed arrow leads to what an area rests on.`,
        ),
      ),
      el(
        "nav",
        { class: "tabs", "aria-label": "Colour by", data: { key: "scales" } },
        SCALES.map(([name, words]) =>
          el(
            "a",
            {
              href: this.href({ by: name }),
              "aria-current": name === this.by ? "true" : null,
              data: { by: name },
            },
            words,
          ),
        ),
      ),
    ];
  }
}

// Every area and every file, those of which most is known first.
function tables({
  areas,
  files,
  files_total: total,
  read_for_files: read,
  most_read_for_files: most,
}) {
  const ranked = [...areas].sort((a, b) => b.holds - a.holds || (a.title < b.title ? -1 : 1));
  return [
    ranked.length
      ? table(
          "Areas",
          "area-table",
          ranked.map((area) => [area.id, area.title, area]),
          (id) => link("know", "areas", id),
          (id) => link("know", "lists", { area: id }),
        )
      : null,
    files.length
      ? table(
          total > files.length ? `Files, the ${files.length} best known of ${total}` : "Files",
          "file-table",
          files.map((file) => [file.path, file.path, file]),
          (path) => link("know", "lists", { words: path }),
          (path) => link("know", "lists", { words: path }),
        )
      : null,
    read >= most
      ? el("p", { class: "quiet" }, `Files are those that the ${most} newest records name.`)
      : null,
  ];
}

function table(words, id, rows, href, list) {
  return el(
    "section",
    { class: "stack tight", data: { key: id } },
    el("h2", {}, words),
    el(
      "table",
      { class: "heat-table", id },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Name", "Known", "Open", "Last"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        { data: { list: "" } },
        rows.map(([key, name, heat]) =>
          el(
            "tr",
            { data: { key, row: key } },
            el(
              "th",
              { scope: "row" },
              el("a", { href: href(key), title: name }, shorten(name, 60)),
            ),
            el(
              "td",
              {},
              el(
                "a",
                { href: list(key), "aria-label": `${heat.holds} known about ${name}: list them` },
                String(heat.holds),
              ),
            ),
            el("td", {}, String(heat.open)),
            el("td", { class: "quiet" }, heat.newest_ms ? ago(heat.newest_ms) : "never"),
          ),
        ),
      ),
    ),
  );
}

function empty() {
  return el(
    "div",
    { class: "page" },
    head("Areas"),
    teach(
      "No area yet",
      "An area names a part of the system that knowledge hangs on: a component, a boundary, a contract. Tag a card with a:storage and it appears by itself, or register several:",
      callText("anchors_bootstrap", {
        anchors: [
          { id: "a:storage", title: "Storage", kind: "component" },
          { id: "a:web", title: "Web shop", kind: "boundary", depends_on: ["a:storage"] },
        ],
      }),
    ),
  );
}
