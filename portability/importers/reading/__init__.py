"""What importers share to read files of other programs."""
