"""The commands of `clew`. ../root.py finds the module of a command by its name and imports it when it is called."""

SHARED = {
    **dict.fromkeys(("start", "think", "remember", "recall", "retract", "close", "resume", "open"), "everyday"),
    **dict.fromkeys(("tasks", "next", "handoff"), "tasks"),
    **dict.fromkeys(("status", "workspaces", "verify", "doctor", "version"), "status"),
    **dict.fromkeys(("inbox", "approve", "reject", "guards", "trust"), "consent"),
    **dict.fromkeys(("backup", "restore", "import", "export", "capture"), "data"),
    **dict.fromkeys(("session", "sessions"), "session"),
    **dict.fromkeys(("jobs", "runner"), "jobs"),
    **dict.fromkeys(("serve", "observatory"), "serve"),
    **dict.fromkeys(("tour", "demo"), "tour"),
    **dict.fromkeys(("call", "ops"), "call"),
}
"""Command name -> module, for commands that belong together. Such a module has no `register` but a table `COMMANDS`,
and a table `GROUPS` for those that have commands of their own."""
