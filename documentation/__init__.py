"""The documents, and what makes and checks their tables."""
