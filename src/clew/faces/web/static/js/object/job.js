// The questions and reports of a job: the state of its runner, the thread, and the form for a
// reply.

import { call } from "../api.js";
import { ago, el } from "../dom.js";
import { isEnded } from "../lifecycle.js";
import { attentionBadge } from "../pages/jobs/radar.js";
import { act, badge, idLink, prose, several } from "../parts.js";
import { byWords } from "../people.js";
import { draft, fold, forget, typed } from "../redraw.js";

const MOST = 200;

export async function jobBody({ id, shown }) {
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
  const listed = radar.jobs.find((item) => item.job_id === id) ?? {};
  const said = found.events.toSorted((a, b) => a.seq - b.seq);
  return el(
    "section.part",
    { key: "thread" },
    el(
      "p#job-state.row",
      listed.runner_state === "offline" ? badge("runner offline", "bad") : null,
      attentionBadge(listed),
    ),
    found.prompt ? fold(`prompt ${id}`, "Prompt", prose(found.prompt)) : null,
    el("h3", "Thread"),
    el(
      "ol#thread.thread",
      said.map((event) => message(event, id, shown.job?.runner)),
    ),
    found.has_more_events ? el("p.quiet", `Only the last ${several(MOST, "message")} are shown.`) : null,
    isEnded("job", found.job.status) ? el("p.quiet", "The job has ended; it takes no more messages.") : replyForm(id),
  );
}

const SPOKEN = new Set(["manager", "question", "error", "progress", "checkpoint", "proof_gate", "message"]);

function message(event, job, runner) {
  const mine = event.kind === "manager" || event.kind === "message";
  // A message does not link to the job that contains it.
  const refs = (event.refs ?? []).filter((ref) => ref !== job);
  return el(
    "li",
    {
      class: `message ${event.kind}${mine ? " mine" : ""}${SPOKEN.has(event.kind) ? "" : " small"}`,
      key: event.seq,
      data: { kind: event.kind },
    },
    el(
      "p.quiet",
      el("strong", mine ? byWords(event.agent) : (runner ?? "runner")),
      ` · ${mine ? "replied" : event.kind.replaceAll("_", " ")} · `,
      ago(event.ts_ms),
      event.percent == null ? "" : ` · ${event.percent} %`,
    ),
    event.message ? prose(event.message) : null,
    refs.length ? el("p.row", refs.map(idLink)) : null,
  );
}

export function replyForm(id) {
  const key = `reply ${id}`;
  const send = async (form) => {
    const text = typed(key);
    if (!text.trim()) return;
    const button = form.querySelector("button");
    if (await act(button, () => call("tasks_jobs_message", { job: id, message: text }), "Sent", null)) forget(key);
  };
  return el(
    "form.reply.stack.tight",
    {
      key: "reply",
      onsubmit: (event) => {
        event.preventDefault();
        send(event.currentTarget);
      },
    },
    draft("textarea", key, {
      rows: 3,
      required: true,
      maxlength: 4000,
      "aria-label": "Reply",
      placeholder: "Answer or correct the runner (Ctrl-Enter sends)",
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event.currentTarget.form);
      },
    }),
    el("div", el("button.primary", { type: "submit" }, "Reply")),
  );
}
