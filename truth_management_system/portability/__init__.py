"""Taking a whole knowledge base out, and putting one in."""
