// The thread of a job, and the answer to it.

import { call } from "../api.js";
import { ago, el } from "../dom.js";
import { act, prose } from "../parts.js";
import { byWords } from "../people.js";
import { draft, fold, forget, typed } from "../redraw.js";

const OPEN = ["QUEUED", "RUNNING"];

export async function jobBody({ id, shown }) {
  const found = await call("tasks_jobs_open", {
    job: id,
    include_prompt: true,
    include_events: true,
    max_events: 60,
    fmt: "json",
    max_chars: 400_000,
  });
  const told = [...found.events].sort((a, b) => a.seq - b.seq);
  return el(
    "section",
    { class: "part", data: { key: "thread" } },
    found.prompt ? fold(`prompt ${id}`, "What it was told", prose(found.prompt)) : null,
    el("h3", {}, "Thread"),
    el(
      "ol",
      { class: "thread" },
      told.map((event) => message(event, shown.job?.runner)),
    ),
    found.has_more_events ? el("p", { class: "quiet" }, "Older messages are left out.") : null,
    OPEN.includes(found.job.status)
      ? replyForm(id)
      : el("p", { class: "quiet" }, "The job has ended; it takes no more messages."),
  );
}

function message(event, runner) {
  const mine = event.kind === "manager" || event.kind === "message";
  return el(
    "li",
    { class: `message ${event.kind}${mine ? " mine" : ""}`, data: { key: event.seq } },
    el(
      "p",
      { class: "quiet" },
      el("strong", {}, mine ? byWords(event.agent) : (runner ?? "runner")),
      ` · ${mine ? "replied" : event.kind.replaceAll("_", " ")} · `,
      ago(event.ts_ms),
      event.percent == null ? "" : ` · ${event.percent} %`,
    ),
    event.message ? prose(event.message) : null,
  );
}

export function replyForm(id) {
  const key = `reply ${id}`;
  const send = async (form) => {
    const text = typed(key);
    if (!text.trim()) return;
    const button = form.querySelector("button");
    if (await act(button, () => call("tasks_jobs_message", { job: id, message: text }), "Sent"))
      forget(key);
  };
  return el(
    "form",
    {
      class: "reply stack tight",
      data: { key: "reply" },
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
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
          send(event.currentTarget.form);
      },
    }),
    el("div", {}, el("button", { class: "primary" }, "Reply")),
  );
}
