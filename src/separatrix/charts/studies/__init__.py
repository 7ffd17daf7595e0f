"""Charts of studies, which compare many configurations."""
