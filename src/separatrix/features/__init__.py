"""From tables to the matrix that a model sees."""
