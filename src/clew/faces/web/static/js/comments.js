// Questions to the agents about a record, and their answers, as a thread.

import { call, tryCall } from "./api.js";
import { ago, el } from "./dom.js";
import { prose } from "./parts.js";
import { byWords } from "./people.js";

export const threadsOf = async (id) => (await tryCall("comment_list", { about: id, max_chars: 60_000 }))?.threads ?? [];

export const ASK_FIELDS = [
  {
    name: "text",
    words: "Your question",
    required: true,
    rows: 3,
    hint: "The next agent that resumes work here gets it. The answer appears in the record.",
  },
];

export const ask = (id, text) => call("comment_ask", { about: id, text });

export function threadPart(threads) {
  if (!threads.length) return null;
  return el(
    "section#questions.part",
    { key: "questions" },
    el("h3", "Questions to agents"),
    el(
      "ol.thread",
      threads.flatMap((thread) => [
        message(thread, "question", thread.question),
        thread.answers.map((answer, at) => message(answer, "answer", `${thread.question} ${at}`)),
        thread.answers.length ? null : el("li.quiet", { key: `${thread.question} open` }, "Waits for an agent"),
      ]),
    ),
  );
}

const message = ({ by, ts, text }, kind, key) =>
  el("li", { class: `message ${kind}`, key }, el("p.quiet", el("strong", byWords(by)), " · ", ago(ts)), prose(text));
