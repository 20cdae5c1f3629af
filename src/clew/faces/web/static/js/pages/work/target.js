// One plan or task: its status, the next action, its steps or tasks, its timeline.

import { call, tryCall } from "../../api.js";
import { provingCommand } from "../../commands.js";
import { ago, el, shorten } from "../../dom.js";
import { happened } from "../../happenings.js";
import { isEnded, OPEN_KINDS, STANDING } from "../../lifecycle.js";
import { markdownButtons, recordMarkdown } from "../../markdown.js";
import { actionButtons } from "../../object/actions.js";
import { badge, card, command, idLink, nothing, recordLink, stateBadges, title } from "../../parts.js";
import { byWords } from "../../people.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";
import { board, newButtons, planName, readMarks, readWork, statusOf, statusWord } from "./board.js";
import { criteriaOf, stepTree } from "./steps.js";

const KEPT = [...STANDING, ...OPEN_KINDS, "evidence", "note"];
const TONES = { ACTIVE: "info", DONE: "good", PARKED: "warn", CANCELED: "" };

export async function targetParts(id) {
  const named = id.startsWith("PLAN-") ? { plan: id } : { task: id };
  const [found, proofs, work, viewed, marks] = await Promise.all([
    call("tasks_resume", { ...named, read_only: true, events_limit: 40, max_chars: 1_000_000 }),
    tryCall("tasks_proofs", { ...named, max_chars: 400_000 }),
    readWork(id.startsWith("PLAN-") ? id : undefined),
    tryCall("record_view", { id, max_chars: 400_000 }),
    id.startsWith("PLAN-") ? readMarks() : null,
  ]);
  const target = withProgress(found);
  title(target.id, "Work");
  const tasks = work.tasks.filter((task) => task.parent === id);
  const plans = new Map(work.plans.map((plan) => [plan.id, plan]));
  const parts = [
    headOf(target, plans, viewed),
    el(
      "div.split",
      { key: "split" },
      el(
        "div.stack",
        { key: "main" },
        target.description ? el("pre.text", target.description) : null,
        id.startsWith("PLAN-") ? null : nextCard(target, found.steps ?? []),
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
        recordsPart(viewed),
      ),
      el(
        "aside.card.lens",
        { tabindex: "0", "aria-label": "Timeline", key: "timeline" },
        el("h2", "Timeline"),
        timeline(found.timeline?.events ?? [], found.steps ?? [], viewed?.events ?? []),
      ),
    ),
  ];
  return { parts, tasks };
}

const WORK_ACTIONS = ["status", "add-step", "edit"];

// The number of closed steps of a task, as on the board.
function withProgress({ target, steps }) {
  if (target.kind === "plan" || !steps) return target;
  const closed = steps.filter(({ completed }) => completed).length;
  return { ...target, steps_completed: closed, steps_count: steps.length };
}

function headOf(target, plans, viewed) {
  const shown = target.kind === "plan" ? { ...plans.get(target.id), ...target } : target;
  const plan = plans.get(target.parent);
  const { priority, assignee, tags = [], depends_on: waitsFor = [] } = viewed?.shown?.target ?? {};
  return el(
    "div.head",
    { key: "head" },
    el(
      "div",
      el(
        "p.crumb",
        el("a", { href: link("now", "board") }, "Work"),
        plan ? [" / ", el("a", { href: link("now", "board", plan.id) }, planName(plan))] : null,
        ` / ${target.id}`,
      ),
      el("h1", shorten(target.title, 140)),
      el(
        "p.row",
        badge(statusWord(shown), TONES[statusOf(shown)]),
        target.reasoning_mode && target.reasoning_mode !== "normal" ? badge(target.reasoning_mode) : null,
        el(
          "span.quiet",
          viewed?.author ? `made by ${byWords(viewed.author)} · ` : "",
          "changed ",
          ago(target.updated_at_ms),
          assignee ? ` · assigned to ${byWords(assignee)}` : "",
          priority ? ` · ${String(priority).toLowerCase()} priority` : "",
        ),
        tags.filter((tag) => tag !== "untagged").map((tag) => badge(tag)),
        waitsFor.length ? el("span.quiet", "waits for ", waitsFor.map(idLink)) : null,
      ),
    ),
    el(
      "div#work-actions.actions",
      target.kind === "plan" ? newButtons(target.id) : null,
      actionButtons({ ...target, shown: { target: { ...target, ...viewed?.shown?.target } } }, WORK_ACTIONS),
      el("a.button", { href: link("know", "around", target.id) }, "Around it"),
      viewed ? markdownButtons(target.id, () => recordMarkdown(viewed)) : null,
    ),
  );
}

// The first open step, its criteria, and the command that proves it.
function nextCard(target, steps) {
  if (isEnded(target.kind, target.status)) return null;
  const step = steps.find(({ completed, blocked }) => !completed && !blocked);
  if (!step) return null;
  const prove = provingCommand(target.id, [{ path: step.path, state: "none", repeat: [], commands: step.tests ?? [] }]);
  return el(
    "section#next.card.next",
    { key: "next" },
    el("header", el("h2", `Next: ${step.title}`)),
    criteriaOf(step).length
      ? el(
          "ul.checks",
          criteriaOf(step).map((line) => el("li", line)),
        )
      : null,
    prove ? fold(`prove ${step.step_id}`, "The command that proves it", command(prove)) : null,
  );
}

// Decisions, lessons and questions of the task.
function recordsPart(viewed) {
  const own = (viewed?.incoming ?? []).filter(({ kind }) => KEPT.includes(kind));
  if (!own.length) return null;
  return card(
    "Decided and learned here",
    { id: "task-records", count: own.length },
    el(
      "ul.plain",
      own.map((item) => el("li", { key: item.id }, recordLink(item), stateBadges(item))),
    ),
  );
}

function notes(radar, proofs) {
  const stale = proofs?.stale?.length ?? 0;
  if (!radar?.blockers?.length && !stale) return null;
  return el(
    "section#warnings.card.warns",
    { key: "warnings" },
    stale
      ? el(
          "p",
          badge("stale", "bad"),
          ` ${stale === 1 ? "One proof covers" : `${stale} proofs cover`} files that have changed since; run it again.`,
        )
      : null,
    (radar?.blockers ?? []).map((line) => el("p", badge("blocked", "bad"), " ", line)),
  );
}

// Bookkeeping events of a step: written with the step, or verified when it closes.
const BOOKS = ["step_verified", "step_defined", "steps_added"];
const byPart = (agent) => (agent ? `${byWords(agent)} · ` : "");

function timeline(events, steps, authored) {
  if (!events.length) return nothing("Nothing yet.");
  const authors = new Map(authored.map(({ event, ts, by }) => [`${event} ${ts}`, by]));
  const names = new Map(steps.map((step) => [step.path, step.title]));
  return el(
    "ol#timeline.lines",
    events
      .filter(({ type }) => !BOOKS.includes(type))
      .reverse()
      .map((event) => {
        const said = happened(event);
        return el(
          "li",
          el(
            "span.what",
            said,
            event.path ? el("span.quiet", ` ${shorten(names.get(event.path) ?? event.path, 60)}`) : null,
          ),
          el("span.when", byPart(authors.get(`${event.type} ${event.ts}`)), ago(event.ts_ms)),
        );
      }),
  );
}
