// One job: its state, what it was told, its thread, and a reply.

import { call } from "../../api.js";
import { ago, el, shorten } from "../../dom.js";
import { actionButtons } from "../../object/actions.js";
import { replyForm } from "../../object/job.js";
import { idLink, nothing, prose, several, title } from "../../parts.js";
import { fold } from "../../redraw.js";
import { link } from "../../router.js";
import { attentionBadge, stateBadge } from "./radar.js";

const MOST = 200;

export async function jobParts(id) {
  const [found, radar] = await Promise.all([
    call("tasks_jobs_open", {
      job: id,
      include_prompt: true,
      include_events: true,
      max_events: MOST,
      fmt: "json",
      max_chars: 1_000_000,
    }),
    call("tasks_jobs_radar", { limit: 100, fmt: "json", max_chars: 1_000_000 }),
  ]);
  const { job } = found;
  title(job.job_id, "Jobs");
  const open = ["QUEUED", "RUNNING"].includes(job.status);
  return [
    el(
      "div",
      { class: "head", data: { key: "head" } },
      el(
        "div",
        {},
        el(
          "p",
          { class: "crumb" },
          el("a", { href: link("now", "job") }, "Jobs"),
          ` / ${job.job_id}`,
        ),
        el("h1", {}, shorten(job.title, 140)),
        el(
          "p",
          { class: "row" },
          stateBadge(job.status),
          attentionBadge(radar.jobs.find((item) => item.job_id === id) ?? {}),
          el(
            "span",
            { class: "quiet" },
            [job.kind, `${job.priority.toLowerCase()} priority`, job.runner]
              .filter(Boolean)
              .join(" · "),
            job.task ? [" · for ", idLink(job.task)] : "",
            " · changed ",
            ago(job.updated_at_ms),
          ),
        ),
      ),
      el(
        "div",
        { class: "actions" },
        actionButtons({ ...job, id: job.job_id, kind: "job" }, ["requeue"]),
      ),
    ),
    job.summary ? el("p", { class: "card", data: { key: "summary" } }, job.summary) : null,
    found.prompt
      ? el(
          "div",
          { class: "card flat", data: { key: "prompt" } },
          fold(`prompt ${id}`, "What it was told", el("pre", { class: "text" }, found.prompt)),
        )
      : null,
    el(
      "section",
      { class: "card", data: { key: "thread", list: "" } },
      el("h2", {}, "Thread"),
      el(
        "ol",
        { class: "thread", id: "thread", data: { key: "list", list: "" } },
        [...found.events].sort((a, b) => a.seq - b.seq).map((event) => message(event, id)),
      ),
      found.has_more_events
        ? nothing(`Only the last ${several(MOST, "message")} are shown.`)
        : null,
      open ? replyForm(id) : nothing("The job has ended; it takes no more messages."),
    ),
  ];
}

const SPOKEN = new Set([
  "manager",
  "question",
  "error",
  "progress",
  "checkpoint",
  "proof_gate",
  "message",
]);

function message(event, job) {
  // A message need not lead to the job in which it stands.
  const refs = (event.refs ?? []).filter((ref) => ref !== job);
  const mine = event.kind === "manager" || event.kind === "message";
  return el(
    "li",
    {
      class: `message ${event.kind}${mine ? " mine" : ""}${SPOKEN.has(event.kind) ? "" : " small"}`,
      data: { key: event.seq, kind: event.kind },
    },
    el(
      "p",
      { class: "quiet" },
      el("strong", {}, mine ? "reply" : event.kind),
      " · ",
      ago(event.ts_ms),
      event.percent === null || event.percent === undefined ? "" : ` · ${event.percent} %`,
    ),
    event.message ? prose(event.message) : null,
    refs.length
      ? el(
          "p",
          { class: "row" },
          refs.map((ref) => idLink(ref)),
        )
      : null,
  );
}
