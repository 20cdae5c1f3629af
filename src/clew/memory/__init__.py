"""Governed memory: blocks of Markdown that people edit and agents change by proposal."""
