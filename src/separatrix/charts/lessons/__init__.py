"""Charts that explain an idea of the course. Most of them draw results of `separatrix.explain`."""
