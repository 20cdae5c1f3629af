"""The commands of `clew`: a module each, found by its name and imported when it is called. See ../root.py."""

SHARED = {
    **dict.fromkeys(("start", "think", "remember", "retract", "close", "resume", "open"), "everyday"),
    **dict.fromkeys(("backup", "restore"), "backup"),
    **dict.fromkeys(("inbox", "approve", "reject"), "inbox"),
    **dict.fromkeys(("session", "sessions"), "session"),
}
"""Command name -> module, for commands that belong together. Such a module has no `register` but a table `COMMANDS`."""
