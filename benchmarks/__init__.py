"""What 10,000 conversations and 500 answers at once cost: `python -m benchmarks`, each figure beside its budget."""
