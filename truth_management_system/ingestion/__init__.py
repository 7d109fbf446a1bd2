"""How knowledge gets in: texts and conversations become proposals, and what the person approves becomes claims."""
