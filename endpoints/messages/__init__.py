"""Messages over HTTP."""
