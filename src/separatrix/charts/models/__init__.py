"""Charts of fitted models: boundaries, weights, predictions, learning curves."""
