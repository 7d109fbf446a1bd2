"""What models are told: the items of a context, citations, options and preferences; the templates lie in `prompts`."""
