"""What a turn is, apart from the steps that answer it."""
