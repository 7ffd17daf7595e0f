"""The search for a penalty by cross-validation: folds, scores, candidates."""
