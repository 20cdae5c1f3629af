// One plan or task: where it stands, what comes next, its steps or tasks, its timeline.

import { call, envelope, tryCall } from "../../api.js";
import { commandOfLine } from "../../commands.js";
import { ago, el, shorten } from "../../dom.js";
import { describe } from "../../happenings.js";
import { actionButtons } from "../../object/actions.js";
import { badge, command, idLink, nothing, several, title } from "../../parts.js";
import { byWords } from "../../people.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";
import { board, newButtons, readMarks, readWork } from "./board.js";
import { stepTree } from "./steps.js";

const TONES = { ACTIVE: "info", DONE: "good", PARKED: "warn", CANCELED: "" };

export async function targetParts(id) {
  const named = id.startsWith("PLAN-") ? { plan: id } : { task: id };
  const [found, next, proofs, work, viewed, marks] = await Promise.all([
    call("tasks_resume", { ...named, read_only: true, events_limit: 40, max_chars: 1_000_000 }),
    envelope("tasks_snapshot", { ...named, read_only: true }).catch(() => null),
    tryCall("tasks_proofs", { ...named, max_chars: 400_000 }),
    readWork(id.startsWith("PLAN-") ? id : undefined),
    tryCall("record_view", { id, max_chars: 400_000 }),
    id.startsWith("PLAN-") ? readMarks() : null,
  ]);
  const { target } = found;
  title(target.id, "Work");
  const tasks = work.tasks.filter((task) => task.parent === id);
  const plans = new Map(work.plans.map((plan) => [plan.id, plan]));
  const parts = [
    headOf(target, plans, viewed),
    el(
      "div",
      { class: "split", data: { key: "split", list: "" } },
      el(
        "div",
        { class: "stack", data: { key: "main", list: "" } },
        target.description ? el("pre", { class: "text" }, target.description) : null,
        nextCard(next, nextWords(found.radar, target, tasks), found.radar, target),
        notes(found.radar, proofs),
        id.startsWith("PLAN-")
          ? board(tasks, plans, found.focus, marks)
          : stepTree(
              found.steps ?? [],
              {
                evidence: proofs?.evidence ?? [],
                proven: proofs?.steps ?? [],
                said: viewed?.steps ?? [],
              },
              target.id,
            ),
      ),
      el(
        "aside",
        { class: "card lens", tabindex: "0", "aria-label": "Timeline", data: { key: "timeline" } },
        el("h2", {}, "Timeline"),
        timeline(found.timeline?.events ?? [], found.steps ?? [], viewed?.events ?? []),
      ),
    ),
  ];
  return { parts, tasks };
}

const WORK_ACTIONS = ["status", "add-step", "edit"];

function headOf(target, plans, viewed) {
  const plan = plans.get(target.parent);
  const { priority, assignee, tags = [], depends_on: waitsFor = [] } = viewed?.shown?.target ?? {};
  return el(
    "div",
    { class: "head", data: { key: "head" } },
    el(
      "div",
      {},
      el(
        "p",
        { class: "crumb" },
        el("a", { href: link("now", "board") }, "Work"),
        plan
          ? [" / ", el("a", { href: link("now", "board", plan.id) }, shorten(plan.title, 60))]
          : null,
        ` / ${target.id}`,
      ),
      el("h1", {}, shorten(target.title, 140)),
      el(
        "p",
        { class: "row" },
        badge(target.status.toLowerCase(), TONES[target.status]),
        target.reasoning_mode && target.reasoning_mode !== "normal"
          ? badge(target.reasoning_mode)
          : null,
        el(
          "span",
          { class: "quiet" },
          viewed?.author ? `made by ${byWords(viewed.author)} · ` : "",
          "changed ",
          ago(target.updated_at_ms),
          assignee ? ` · assigned to ${byWords(assignee)}` : "",
          priority ? ` · ${String(priority).toLowerCase()} priority` : "",
        ),
        tags.filter((tag) => tag !== "untagged").map((tag) => badge(tag)),
        waitsFor.length ? el("span", { class: "quiet" }, "waits for ", waitsFor.map(idLink)) : null,
      ),
    ),
    el(
      "div",
      { class: "actions", id: "work-actions" },
      target.kind === "plan" ? newButtons(target.id) : null,
      actionButtons(
        { ...target, shown: { target: { ...target, ...viewed?.shown?.target } } },
        WORK_ACTIONS,
      ),
      el(
        "a",
        { class: "button", href: link("know", "cards", target.id) },
        `Cards of this ${target.kind}`,
      ),
    ),
  );
}

// A plan goes on where its tasks do; that nobody set its own status says nothing.
function nextWords(radar, target, tasks) {
  const running = tasks.filter((task) => task.status === "ACTIVE").length;
  if (target.kind !== "plan" || !running) return radar?.now ?? "";
  return `${several(running, "task")} in work`;
}

// The capsule's next action, as the command that an agent or a person runs.
function nextCard(answer, words, radar, target) {
  if (!answer?.lines?.length || ["DONE", "CANCELED"].includes(target.status)) return null;
  const [state, ...commands] = answer.lines;
  const capsule = answer.result.capsule ?? {};
  const why = [
    capsule.map_first ? capsule.map_action : null,
    capsule.prep_action,
    capsule.action,
  ].find((action) => action && commands[0]?.startsWith(action.tool))?.purpose;
  return el(
    "section",
    { class: "card next", id: "next", data: { key: "next" } },
    el("header", {}, el("h2", {}, `Next: ${words}`)),
    why ? el("p", { class: "quiet" }, `First: ${why}.`) : null,
    commands.map((line) => command(commandOfLine(line))),
    radar?.verify?.length
      ? el(
          "div",
          {},
          el("h3", {}, "It holds when"),
          el(
            "ul",
            { class: "checks" },
            radar.verify.map((line) => el("li", {}, line)),
          ),
        )
      : null,
    fold(`line ${target.id}`, "The line an agent sees", el("pre", { class: "text" }, state)),
  );
}

function notes(radar, proofs) {
  const stale = proofs?.stale?.length ?? 0;
  if (!radar?.blockers?.length && !stale) return null;
  return el(
    "section",
    { class: "card warns", id: "warnings", data: { key: "warnings" } },
    stale
      ? el(
          "p",
          {},
          badge("stale", "bad"),
          ` ${stale === 1 ? "One proof covers" : `${stale} proofs cover`} files that have changed since; run it again.`,
        )
      : null,
    (radar?.blockers ?? []).map((line) => el("p", {}, badge("blocked", "bad"), " ", line)),
  );
}

const byPart = (agent) => (agent ? `${byWords(agent)} · ` : "");

function timeline(events, steps, authored) {
  if (!events.length) return nothing("Nothing yet.");
  const authors = new Map(authored.map(({ event, ts, by }) => [`${event} ${ts}`, by]));
  const names = new Map(steps.map((step) => [step.path, step.title]));
  return el(
    "ol",
    { class: "lines", id: "timeline" },
    [...events].reverse().map((event) => {
      const said = describe({ ...event, subject: event.task_id }, new Map()).said;
      return el(
        "li",
        {},
        el(
          "span",
          { class: "what" },
          said,
          event.path
            ? el("span", { class: "quiet" }, ` ${shorten(names.get(event.path) ?? event.path, 60)}`)
            : null,
        ),
        el(
          "span",
          { class: "when" },
          byPart(authors.get(`${event.type} ${event.ts}`)),
          ago(event.ts_ms),
        ),
      );
    }),
  );
}
