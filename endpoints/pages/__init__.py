"""The pages that a browser opens."""
