"""Messages: read, changed, answered again; their short hashes."""
