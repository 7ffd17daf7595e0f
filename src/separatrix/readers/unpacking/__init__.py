"""Packed and encoded files, read within limits."""
