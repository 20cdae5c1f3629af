// The login page: a server with a token shows nothing until a person signs in.

import { el, replace } from "./dom.js";
import { title } from "./parts.js";
import { signIn } from "./people.js";

export function askForToken(main) {
  const input = el("input#token", {
    type: "password",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": "token-problem",
  });
  const said = el("p#token-problem.bad", { role: "alert" });
  const open = async (event) => {
    event.preventDefault();
    said.textContent = "";
    try {
      await signIn(input.value);
      location.reload();
    } catch (problem) {
      said.textContent =
        problem.code === "401"
          ? "That code is not valid, or no longer. Run `clew login` where the server runs for a new one."
          : problem.message;
      input.select();
    }
  };
  title("Sign in");
  replace(
    main,
    el(
      "form.card.login",
      { onsubmit: open },
      el("h1", "Sign in"),
      el(
        "p.quiet",
        "Run `clew login` in a terminal where the server runs, and type the code that it prints. With the value of CLEW_TOKEN you can read, and decide nothing.",
      ),
      el("label", { for: "token" }, "Code"),
      input,
      said,
      el("button.primary", { type: "submit" }, "Open"),
    ),
  );
  input.focus();
}
