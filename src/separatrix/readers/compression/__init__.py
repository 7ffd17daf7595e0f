"""Read compressed files within size limits, and decode text."""
