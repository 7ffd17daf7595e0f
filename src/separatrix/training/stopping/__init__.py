"""When and why the models of a batch stop."""
