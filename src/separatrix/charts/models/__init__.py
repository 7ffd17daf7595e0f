"""Pictures of a fitted model and its data."""
