"""How models call tools while they answer: the loop, and constrained choices for models without tools of their own."""
