"""The commands of `clew`, one module each. ../root.py finds a module by its name and imports it when it is called."""

SHARED = {
    **dict.fromkeys(("start", "think", "remember", "retract", "close", "resume", "open"), "everyday"),
    **dict.fromkeys(("backup", "restore"), "backup"),
    **dict.fromkeys(("inbox", "approve", "reject"), "inbox"),
    **dict.fromkeys(("session", "sessions"), "session"),
}
"""Command name -> module, for commands that belong together. Such a module has no `register` but a table `COMMANDS`."""
