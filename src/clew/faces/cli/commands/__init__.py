"""The commands of `clew`. ../root.py finds the module of a command by its name and imports it when it is called."""

SHARED = {
    **dict.fromkeys(("start", "think", "remember", "recall", "retract", "undo", "close", "resume", "open"), "everyday"),
    **dict.fromkeys(("tasks", "next", "handoff"), "tasks"),
    **dict.fromkeys(("status", "workspaces", "digest", "verify", "doctor", "version"), "status"),
    **dict.fromkeys(("login", "token"), "identity"),
    **dict.fromkeys(("inbox", "approve", "reject", "decide", "erase", "guards", "trust"), "consent"),
    **dict.fromkeys(("backup", "restore", "migrate", "migrate-store", "vacuum", "import", "export", "capture"), "data"),
    **dict.fromkeys(("session", "sessions"), "session"),
    **dict.fromkeys(("log", "watch"), "log"),
    **dict.fromkeys(("why", "blame"), "why"),
    **dict.fromkeys(("jobs", "runner"), "jobs"),
    **dict.fromkeys(("serve", "observatory"), "serve"),
    **dict.fromkeys(("tour", "demo"), "tour"),
    **dict.fromkeys(("call", "ops"), "call"),
}
"""Command name -> module, for commands that belong together. Such a module has no `register` but a table `COMMANDS`,
and a table `GROUPS` for those that have commands of their own."""
