"""What models are told, for answers, titles and summaries; the templates lie in `prompts`."""
