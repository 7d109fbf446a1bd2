"""Tools of other MCP servers, which the operator adds: commands on this machine, run apart from the server."""
