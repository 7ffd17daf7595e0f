"""Columns that describe rows, the division of rows into parts, and files with their own part."""
