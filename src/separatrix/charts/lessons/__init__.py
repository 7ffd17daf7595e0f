"""Charts that explain an idea of the course, mostly results of `separatrix.explain`."""
