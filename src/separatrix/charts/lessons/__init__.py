"""Pictures that explain an idea of the course."""
