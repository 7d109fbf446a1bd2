"""People's own tool servers over HTTP."""
