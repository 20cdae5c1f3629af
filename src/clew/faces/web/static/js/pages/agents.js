// Who works here, and what each did.

import { el, replace } from "../dom.js";
import { head } from "../parts.js";

export async function show(main) {
  replace(main, el("div", { class: "page" }, head("Agents")));
}
