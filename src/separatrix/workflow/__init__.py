"""The work of the command line, without its output: every function returns plain facts.

This includes training a model on a source, choosing its penalty, evaluating it, and predicting new
rows.
"""
