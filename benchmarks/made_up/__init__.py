"""Made-up history to measure with: the same from the same plan."""
