"""References over HTTP: completion, resolution, backlinks."""
