"""Training the runs of a study batch by batch, and showing how far along it is."""
