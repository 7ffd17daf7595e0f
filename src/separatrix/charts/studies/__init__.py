"""Pictures of studies: many runs beside each other."""
