"""History from elsewhere: the imports as jobs, what is stored of them, and how it is known again."""
