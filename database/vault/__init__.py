"""The index of people's documents: rows made of their files (`documents`), and vectors of their chunks (`chunks`)."""
