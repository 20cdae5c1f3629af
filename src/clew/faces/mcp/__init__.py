"""The MCP face: one server object for both protocol eras, over stdio and HTTP. Knows no SQL."""

from clew.faces.mcp.sdk import load_lazily

load_lazily()
