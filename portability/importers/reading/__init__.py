"""What the importers share: the file, the conversations read from it, streams of JSON, trees of messages, values."""
