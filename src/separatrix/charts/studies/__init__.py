"""Charts of studies: many configurations side by side."""
