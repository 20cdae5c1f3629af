// Settings: who you are, workspaces, governance, health, connecting, export.

import { el, replace } from "../dom.js";
import { head } from "../parts.js";
import { address } from "../router.js";
import { healthParts } from "./memory/health.js";

export async function show(main) {
  const health = address().parts[0] === "health";
  replace(
    main,
    el(
      "div",
      { class: "page" },
      head(health ? "Health" : "Settings"),
      health ? await healthParts() : null,
    ),
  );
}
