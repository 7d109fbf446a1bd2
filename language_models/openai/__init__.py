"""Models of any provider with the OpenAI-compatible interface, over one HTTP client."""
