"""Logs of the epochs of a study: CSV files and MLflow."""
