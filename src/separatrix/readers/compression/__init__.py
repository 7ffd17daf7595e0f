"""Compressed and encoded files, read within limits."""
