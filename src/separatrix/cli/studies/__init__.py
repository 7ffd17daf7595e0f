"""Options, progress and tables of the command `study`."""
