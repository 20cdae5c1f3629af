// `z` without a recent action: the user's last writes, each with Undo, however old.

import { call } from "./api.js";
import { ago, el } from "./dom.js";
import { dialog } from "./keys.js";
import { nothing, problemNotice } from "./parts.js";
import { named } from "./people.js";
import { undoButton } from "./undo-button.js";

const WORDS = {
  remember: "wrote",
  edit_record: "edited",
  decide: "decided",
  retract: "withdrew",
  restore: "restored",
  undo: "undid",
};

export async function chooseUndo() {
  if (!(await named())) return;
  try {
    const { writes } = await call("undo", { list: true });
    const { shut } = dialog(
      "Undo",
      "undo-list",
      writes.length
        ? el(
            "ul.lines",
            writes.map((write) =>
              el(
                "li",
                { data: { event: write.event } },
                el("span.what", `${WORDS[write.operation] ?? write.operation.replaceAll("_", " ")} ${write.says}`),
                ago(write.ts),
                undoButton(write.event, write.says, () => shut()),
              ),
            ),
          )
        : nothing("You have written nothing here that could be undone."),
    );
  } catch (problem) {
    problemNotice(problem);
  }
}
