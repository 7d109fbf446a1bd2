"""What people look for: `kinds` are all kinds of things that are found, `conversations` and `files` two of them."""
