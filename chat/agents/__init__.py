"""Agents in conversations: who answers a message, and agents that ask each other."""
