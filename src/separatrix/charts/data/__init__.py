"""Charts of a data set: its features, its matrix."""
