"""Presets and prompts over HTTP."""
