"""What reports and charts draw of models and rows."""
