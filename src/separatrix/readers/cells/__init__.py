"""Decide how the cells of a column are read: as numbers, dates, categories or text."""
