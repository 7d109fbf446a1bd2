"""What a turn can rely on: gathered, reported, condensed where it is too large."""
