"""The results of a study: a record of every run, the table, the verdict and their formats."""
