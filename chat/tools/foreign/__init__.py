"""Tools of other MCP servers, which the operator adds: commands on this machine, or servers that answer over HTTP."""
