"""The loop in which a model calls tools, and the choice of a call for models without tools of their own."""
