"""What statements say: read by rules, compared with each other, and asked of models."""
