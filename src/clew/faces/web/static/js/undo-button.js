// Undoes one write by its event, however long ago it was.

import { call } from "./api.js";
import { el } from "./dom.js";
import { act } from "./parts.js";

export const undoButton = (event, words, done = () => {}) =>
  el(
    "button.small",
    {
      data: { undo: event },
      onclick: async (press) => {
        const run = () => call("undo", { event });
        const said = ({ done: lines }) => `Undone: ${lines.join("; ")}`;
        if (await act(press.currentTarget, run, said, null)) done();
      },
    },
    "Undo",
    el("span.hidden-text", ` ${words}`),
  );
