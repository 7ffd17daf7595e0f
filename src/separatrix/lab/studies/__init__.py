"""The studies of the lab: the form, the processes, and what pages show of them."""
