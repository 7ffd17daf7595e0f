"""Plan a study: its data, its configurations and seeds, and the batches of its runs."""
