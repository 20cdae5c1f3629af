// How each client connects to the server at this address: a command to copy, or a link that does it.

import { copyButton, el } from "./dom.js";
import { command } from "./parts.js";
import { state } from "./state.js";

// A client that supports links is opened by a click, on every system.
const linkOf = (line) => /\b(cursor|vscode|vscode-insiders):\S+/.exec(line)?.[0].replace(/['"]$/, "");

export const connectLines = () =>
  el(
    "dl.connect",
    { key: "connect" },
    state.connect.flatMap(({ client, lines }) => [
      el("dt", client),
      el("dd", { key: client, data: { client } }, lines.map(lineOf)),
    ]),
  );

function lineOf(line) {
  const href = linkOf(line);
  if (!href) return command(line);
  return el("p.row", el("a.button", { href }, "Add with a link"), copyButton(href, "copy"));
}
