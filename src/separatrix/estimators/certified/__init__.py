"""Classifiers and predictions with proofs about the exact optimum."""
