"""The Markdown files of a memory workspace: their grammar, their directory, and how they and the store agree."""
