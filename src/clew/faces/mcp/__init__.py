"""The MCP face: one low-level server object for both protocol eras, stdio and HTTP."""
