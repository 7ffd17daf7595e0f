"""Convert tables to the feature matrix of a model."""
