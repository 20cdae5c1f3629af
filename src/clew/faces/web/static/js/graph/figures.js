// Findings about the shape of a whole session: requested once, when it is unfolded.

import { tryCall } from "../api.js";
import { el, replace } from "../dom.js";

// `model()` is the session as it is now; onOpen(id) follows a reference.
export function sessionFigures(model, onOpen) {
  const body = el("div.figures");
  const element = el(
    "details#figures.session-figures",
    { ontoggle: () => element.open && fill() },
    el("summary", "Figures"),
    body,
  );
  async function fill() {
    const analysis = await tryCall("session_analyze", { sessionId: model().session.id });
    replace(body, analysis ? figures(model(), analysis, onOpen) : "Nothing can be said of it yet.");
  }
  return element;
}

function figures(model, { linearity, completion, content, explained }, onOpen) {
  const { openHypotheses, unsupportedConclusions } = content;
  return el(
    "dl",
    figure("Straightness", percent(linearity), "thoughts that neither revise another nor start a branch"),
    figure("Completion", percent(completion), "how far the main line is on the way to the number it planned"),
    figure("Open hypotheses", points(model, openHypotheses, onOpen), explained.openHypotheses),
    figure("Bare conclusions", points(model, unsupportedConclusions, onOpen), explained.unsupportedConclusions),
  );
}

// `S4` and `alt:S2` as links to those thoughts.
function points(model, named, onOpen) {
  if (!named.length) return "none";
  return named.slice(0, 8).flatMap((point) => {
    const [, branch, number] = point.match(/^(?:(.*):)?S(\d+)$/) ?? [];
    const target = number && model.find(model.id(Number(number), branch));
    if (!target) return [`${point} `];
    const open = () => onOpen(target.id);
    return [el("button.link", { onclick: open }, point), " "];
  });
}

function figure(name, value, meaning) {
  return [el("dt", name, el("small.quiet", meaning)), el("dd", value)];
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}
