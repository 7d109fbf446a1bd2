"""Agents: whom a person can ask beside a conversation's own model."""
