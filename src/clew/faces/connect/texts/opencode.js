// clew-memory for opencode: says where the work stands, and asks the guards before a tool runs.
// Written by `clew connect opencode`, taken back by `clew connect --remove opencode`; docs/hooks.md says what it does.
import { spawn } from "node:child_process";

const HOOK = "clew-hook";
const PATIENCE = 5500 + 1000 * (Number(process.env.CLEW_HOOK_SECONDS) || 0); // ms; the hook itself gives up before
const TOOLS = new Set(["bash", "edit", "write", "multiedit", "patch", "apply_patch"]);
const OWN = /^clew_(start|resume|close)$/; // their answers name the task that this session works on
const TITLES = /^You are a title generator/; // opencode asks a model for the session's title: no work, no memory

/** Asks `clew-hook`. Whatever goes wrong there is no reason to disturb the session: the answer is then empty. */
function ask(event, directory, told) {
  return new Promise((answer) => {
    let printed = "";
    try {
      const child = spawn(`${HOOK} ${event} --client opencode`, { cwd: directory, shell: true });
      const limit = setTimeout(() => child.kill(), PATIENCE);
      child.stdout.on("data", (part) => (printed += part));
      child.on("error", () => answer({}));
      child.on("close", () => {
        clearTimeout(limit);
        answer(parsed(printed));
      });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify({ ...told, cwd: directory }));
    } catch {
      answer({});
    }
  });
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

export const Clew = async ({ directory }) => {
  const said = new Map(); // what each session was told; it is part of its system prompt from then on
  const inner = new Set(); // sessions of sub-agents: guards hold for them, and nothing else
  const compacted = new Set();
  const given = new Map(); // the arguments of tools that run

  const tell = async (event, session, more = {}) =>
    ask(event, directory, { session_id: session, ...(inner.has(session) ? { agent_id: session } : {}), ...more });
  const note = (session, context) => {
    if (!said.has(session)) said.set(session, []);
    if (context) said.get(session).push(context);
  };
  const begin = async (session) => {
    const source = compacted.delete(session) ? "compact" : said.has(session) ? "" : "startup";
    if (!source) return;
    note(session); // at once: the request for a title comes at the same time
    note(session, (await tell("session-start", session, { source })).context);
  };

  return {
    event: async ({ event }) => {
      const session = event?.type === "session.created" ? event.properties?.info : undefined;
      if (session?.parentID) inner.add(session.id);
    },
    "chat.message": async (input, output) => {
      const session = input?.sessionID;
      const texts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      const prompt = texts.map((part) => part.text).join("\n");
      if (!session || !prompt) return;
      await begin(session);
      note(session, (await tell("prompt", session, { prompt })).context);
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input?.sessionID;
      if (!session || inner.has(session) || !output?.system || TITLES.test(output.system[0])) return;
      await begin(session);
      // Into the first block: some servers refuse a request with two system messages.
      const all = [output.system[0], ...said.get(session)].filter(Boolean);
      if (all.length) output.system[0] = all.join("\n\n");
    },
    "tool.execute.before": async (input, output) => {
      if (!TOOLS.has(input?.tool)) return;
      given.set(input.callID, output?.args);
      const tool = { tool_name: input.tool, tool_input: output?.args, tool_use_id: input.callID };
      const { deny } = await tell("pre-tool", input.sessionID, tool);
      if (!deny) return;
      given.delete(input.callID);
      throw new Error(deny);
    },
    "tool.execute.after": async (input, output) => {
      if (!TOOLS.has(input?.tool) && !OWN.test(input?.tool)) return;
      const args = input.args ?? given.get(input.callID);
      given.delete(input.callID);
      const response = { output: output?.output, metadata: { exit: output?.metadata?.exit } };
      const tool = { tool_name: input.tool, tool_input: args, tool_use_id: input.callID, tool_response: response };
      const { context } = await tell("post-tool", input.sessionID, tool);
      if (context && typeof output?.output === "string") output.output += `\n\n${context}`;
    },
    "experimental.session.compacting": async (input) => {
      if (!input?.sessionID) return;
      await tell("pre-compact", input.sessionID, { trigger: "auto" });
      said.delete(input.sessionID);
      compacted.add(input.sessionID);
    },
  };
};
