"""What a study trains: its data, its configurations and seeds, and the batches they make."""
