"""Read data that may be larger than memory, some rows at a time."""
