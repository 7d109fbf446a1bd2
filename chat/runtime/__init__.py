"""Parts of a server that outlive single turns: its start, caches, background upkeep, the lock on the data folder."""
