"""The models that a person may choose."""
