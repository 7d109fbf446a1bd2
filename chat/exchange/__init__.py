"""One question and its answers: the turn, its events, what is attached and named, the report, what answers it."""
