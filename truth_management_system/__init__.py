"""Personal knowledge base; so far only its identifiers exist, the rest comes with the knowledge base itself."""
