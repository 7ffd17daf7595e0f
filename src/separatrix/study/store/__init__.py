"""The file that stores studies."""
