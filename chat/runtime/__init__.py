"""What a server keeps beside single turns: services, caches, upkeep, its lock on the data folder."""
