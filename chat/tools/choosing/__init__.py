"""Choosing calls for models that can't be offered tools natively."""
