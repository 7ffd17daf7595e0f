"""Data in: from files, folders and arrays to tables, and from tables to the matrix of a model."""
