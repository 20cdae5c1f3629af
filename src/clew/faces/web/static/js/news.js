// Keeps a page up to date while others write: draws it again after relevant events, one drawing at
// a time, so that a slow response never overwrites a newer one.

import { problemNotice } from "./parts.js";
import { feed } from "./socket.js";

const PAUSE = 150;

// Draws, and returns a function that ends it. `matters(event)` returns whether an event changes the
// view; the page is drawn at most once a `pause`, however many events arrive.
export async function keepDrawn(draw, matters, pause = PAUSE) {
  let busy = true,
    again = false,
    ended = false,
    timer = 0;
  const run = async () => {
    timer = 0;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      do {
        again = false;
        await draw();
      } while (again && !ended);
    } catch (problem) {
      if (!ended) problemNotice(problem);
    } finally {
      busy = false;
    }
  };
  const soon = () => {
    timer ||= setTimeout(run, pause);
  };
  const end = feed.on("events", (_event, data) => {
    if (data.topic && matters(data)) soon();
  });
  // After a lost connection events may have been missed: the view is loaded again.
  window.addEventListener("clew-again", soon);
  const stop = () => {
    ended = true;
    clearTimeout(timer);
    window.removeEventListener("clew-again", soon);
    end();
  };
  try {
    await draw();
  } catch (problem) {
    stop();
    throw problem;
  }
  busy = false;
  if (again) soon();
  return stop;
}
