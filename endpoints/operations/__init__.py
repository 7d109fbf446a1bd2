"""What operators ask: health, readiness, metrics, limits; and the log that they read."""
