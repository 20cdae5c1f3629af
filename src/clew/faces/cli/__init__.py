"""The command line: reads argv, calls the dispatcher, writes text or JSON and an exit code."""
