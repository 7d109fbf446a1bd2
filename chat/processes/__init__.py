"""What a server process works with: its threads, its metrics, and the other processes on the same store and port."""
