// A record on a page of its own: shown for a shared address when nothing else is open.

import { el, replace } from "../dom.js";
import { followRecord } from "./record.js";

export async function show(main, parts) {
  const body = el("div.page.whole");
  const end = await followRecord(body, parts.join("/"), "h1");
  replace(main, body);
  return end;
}
