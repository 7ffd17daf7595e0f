"""The file in which studies are kept."""
