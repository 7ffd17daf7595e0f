"""Split CSV and TSV files into columns of cells."""
