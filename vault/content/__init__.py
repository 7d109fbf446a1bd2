"""What the files of a vault say: their Markdown, their links and which documents these name, their summaries."""
