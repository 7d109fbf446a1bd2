"""One turn from acceptance to its last event: its steps, its answers, its task, its journal and its watchers."""
