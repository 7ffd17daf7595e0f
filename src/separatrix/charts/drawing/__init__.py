"""What all charts share: colours, marks, and how they are written to files."""
