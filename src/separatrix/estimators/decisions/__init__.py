"""Decision thresholds, and probabilities for losses that define none."""
