"""Charts of a data set: its features and its matrix."""
