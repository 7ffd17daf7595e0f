"""Train the runs of a study batch by batch, and show the progress."""
