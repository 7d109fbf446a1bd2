"""A person's documents over HTTP."""
