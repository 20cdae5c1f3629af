// The page before the page: a Clew with a token shows nothing until somebody types it.

import { keepKey, send } from "./api.js";
import { el, replace } from "./dom.js";
import { title } from "./parts.js";

export function askForToken(main) {
  const input = el("input", {
    type: "password",
    id: "token",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": "token-problem",
  });
  const said = el("p", { class: "bad", id: "token-problem", role: "alert" });
  const open = async (event) => {
    event.preventDefault();
    said.textContent = "";
    try {
      keepKey((await send("/page/login", { token: input.value })).key);
      location.reload();
    } catch (problem) {
      said.textContent =
        problem.code === "401"
          ? "That is not the token. It is the value of CLEW_TOKEN where the server runs."
          : problem.message;
      input.select();
    }
  };
  title("Token");
  replace(
    main,
    el(
      "form",
      { class: "login", onsubmit: open },
      el("h1", {}, "This Clew asks for its token"),
      el(
        "p",
        { class: "quiet" },
        "The server was started with CLEW_TOKEN. Type it once; this browser then remembers that you did.",
      ),
      el("label", { for: "token" }, "Token"),
      input,
      said,
      el("button", { class: "primary" }, "Open"),
    ),
  );
  input.focus();
}
