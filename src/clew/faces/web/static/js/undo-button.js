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
        if (await act(press.currentTarget, run, `Undone: ${words}`, null)) done();
      },
    },
    "Undo",
    el("span.hidden-text", ` ${words}`),
  );
