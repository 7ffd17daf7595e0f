"""Charts of fitted models: decision boundaries, weights, predictions and learning curves."""
