"""What a turn can rely on: found, gathered, condensed where it is too large."""
