"""Parts of a server that outlive single turns: services, caches, background upkeep, the lock on the data folder."""
