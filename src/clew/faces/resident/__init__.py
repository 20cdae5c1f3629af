"""The resident server: one process for a user's data directory, behind all the MCP clients that they start."""
