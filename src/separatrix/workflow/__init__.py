"""From a source of data to a judged model, and back from a model to answers.

What the command line does, without its words and tables: every function gives plain facts.
"""
