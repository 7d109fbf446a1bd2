"""Messages as they are stored: their rows, parts, documents and short hashes."""
