"""Where a study writes its epochs while it runs: CSV files, MLflow."""
