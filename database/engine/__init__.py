"""The engine below all stores: connections, the one writer, statements, time, and what only SQLite does."""
