"""What all charts share: theme, data, positions, images, and how a chart is saved."""
