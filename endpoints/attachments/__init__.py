"""Files in messages."""
