"""Search over messages and conversations by words."""
