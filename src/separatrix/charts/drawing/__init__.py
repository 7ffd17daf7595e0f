"""Code that all charts share: theme, data, positions, images and saving."""
