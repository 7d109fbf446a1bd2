"""Language models behind two small protocols: embedded, any OpenAI-compatible provider, scripted."""
