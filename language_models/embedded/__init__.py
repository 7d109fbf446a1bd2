"""Models that run on this machine: a chat model in a child process, an embedding model in this one."""
