"""The MCP face: one server object for both protocol eras, over stdio and HTTP. Knows no SQL."""
