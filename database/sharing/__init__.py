"""Conversations for others to see, by shared links and what these show, and copies of conversations."""
