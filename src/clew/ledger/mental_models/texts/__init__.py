"""The texts of the built-in models, one Markdown file each, with a small header."""
