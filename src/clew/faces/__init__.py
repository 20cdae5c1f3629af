"""How the world reaches the registry: MCP, web, command line. Knows protocols, knows no SQL."""
