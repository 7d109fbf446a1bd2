"""Foreign MCP servers."""
