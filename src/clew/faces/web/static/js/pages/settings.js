// Settings: account, this browser, governance, connecting agents, export; and the health of the
// memory.

import { call, keepKey, send, tryCall } from "../api.js";
import { setTheme, THEMES } from "../bar.js";
import { clewCommand } from "../commands.js";
import { connectLines } from "../connect.js";
import { el, replace } from "../dom.js";
import { keepDrawn } from "../news.js";
import { notice } from "../notices.js";
import { act, card, command, head, several } from "../parts.js";
import { ask } from "../people.js";
import { redraw } from "../redraw.js";
import { address, linkIn } from "../router.js";
import { remember, remembered, state } from "../state.js";
import { healthParts } from "./memory/health.js";

export async function show(main) {
  const health = address().parts[0] === "health";
  const body = el("div.page.settings");
  const draw = async () => {
    redraw(body, health ? await healthPage(draw) : await settingsPage(draw));
    if (!body.isConnected) replace(main, body);
  };
  window.addEventListener("clew-name", draw);
  const end = await keepDrawn(draw, (event) => event.type === "memory_scanned", 500);
  return () => {
    window.removeEventListener("clew-name", draw);
    end();
  };
}

async function healthPage(again) {
  return [head("Health", "What is known without looking; a scan looks at everything."), await healthParts(again)];
}

async function settingsPage(again) {
  const [governance, index] = await Promise.all([tryCall("governance"), tryCall("index_stats")]);
  return [
    head("Settings", `Clew ${state.version}`),
    el(
      "div.columns",
      { key: "cards" },
      youCard(),
      browserCard(again),
      governance ? governanceCard(governance, again) : null,
      workspacesCard(),
      modelCard(index),
      exportCard(),
    ),
    connectCard(),
  ];
}

function youCard() {
  return card(
    "You",
    { id: "you-card" },
    el(
      "p",
      state.person
        ? ["You are signed in as ", el("strong", state.person), ". What you do is kept with this name."]
        : "You are not signed in: you can look, and nothing more.",
    ),
    el(
      "div.row",
      state.person ? null : el("button#sign-in", { onclick: () => ask() }, "Sign in"),
      state.person || state.guarded ? el("button#sign-out", { onclick: signOut }, "Sign out") : null,
    ),
  );
}

async function signOut() {
  await send("/page/logout", {});
  keepKey("");
  location.reload();
}

const THEME_WORDS = { auto: "as the system has them", light: "light", dark: "dark" };

function browserCard(again) {
  const on = remembered("notify", false);
  const turn = async () => {
    const may = on || (await globalThis.Notification?.requestPermission()) === "granted";
    if (!may) return notice("The browser does not allow notifications of this page.", "bad");
    remember("notify", !on);
    again();
  };
  return card(
    "This browser",
    { id: "browser-card" },
    el(
      "p.row",
      el("label", { for: "colours" }, "Colours"),
      el(
        "select#colours",
        { onchange: (event) => setTheme(event.currentTarget.value) },
        THEMES.map((name) =>
          el("option", { value: name, selected: name === remembered("theme", "auto") }, THEME_WORDS[name]),
        ),
      ),
    ),
    el("p.by-key", "Press ", el("kbd", "?"), " to see all keys."),
    el(
      "div",
      el(
        "button#notify",
        { "aria-pressed": String(on), onclick: turn },
        on ? "Stop notifying me when something waits" : "Notify me when something waits",
      ),
    ),
  );
}

const MODES = [
  ["detect_only", "detect only: nothing is applied"],
  ["propose", "propose: changes wait for a person"],
  ["enforce", "enforce: low risk is applied by itself"],
];

function governanceCard(now, again) {
  const set = (args, said) => (event) =>
    act(event.currentTarget, () => call("governance", args(event)).then(again), said, null);
  return card(
    "Governance",
    { id: "governance-card" },
    el(
      "label.field",
      "Mode",
      el(
        "select#mode",
        { onchange: set((event) => ({ mode: event.currentTarget.value }), "Mode set") },
        MODES.map(([value, words]) => el("option", { value, selected: value === now.governance_mode }, words)),
      ),
    ),
    el(
      "label.field",
      "What agents remember waits for review",
      el(
        "select#review-of",
        { onchange: set((event) => ({ review: event.currentTarget.value }), "Set") },
        [
          ["risk", "where it contradicts or replaces"],
          ["all", "always"],
        ].map(([value, words]) => el("option", { value, selected: value === now.review }, words)),
      ),
    ),
    el(
      "p.quiet",
      `A deferral lasts ${several(now.defer_cooldown_days ?? 7, "day")}; a scan proposes at most ${now.proposal_budget?.per_run ?? 0} changes, ${now.proposal_budget?.per_day ?? 0} a day.`,
    ),
  );
}

function workspacesCard() {
  return card(
    "Workspaces",
    { id: "workspaces-card", count: state.workspaces.length },
    el(
      "ul.plain",
      state.workspaces.map((name) =>
        el(
          "li",
          { key: name },
          el("a", { href: linkIn(name, "inbox") }, name),
          name === state.workspace ? " (shown)" : "",
        ),
      ),
    ),
    state.locked ? el("p.quiet", "This server is locked to one workspace.") : null,
  );
}

function modelCard(index) {
  const vectors = index?.vectors;
  return card(
    "Meaning",
    { id: "model-card" },
    el(
      "p",
      vectors?.available
        ? `Recall searches by words and by meaning: ${vectors.count} vectors of ${vectors.model}, ${vectors.lag} waiting.`
        : `Recall searches by words only${vectors?.reason ? `: ${vectors.reason}` : ""}.`,
    ),
    vectors?.available ? null : command(clewCommand("model", "show")),
  );
}

function exportCard() {
  return card(
    "Export",
    { id: "export-card" },
    el("p", "A copy of the whole store, checked and restorable:"),
    command(clewCommand("backup", "clew-backup.db")),
    el("p", "The memory as files, for other programs:"),
    command(clewCommand("call", "export_memory", "path=memory.tar.gz")),
  );
}

// The lines contain the address of this page, so that an agent uses the same server and workspace.
function connectCard() {
  return card(
    "Connect an agent",
    { id: "connect-card" },
    connectLines(),
    el("h3", "All clients on this machine"),
    el("p", "This configures every MCP client found on this machine:"),
    command(clewCommand("connect")),
  );
}
