"""The kinds of `separatrix chart`: one function for each, in `KINDS` of `kinds.py`."""
