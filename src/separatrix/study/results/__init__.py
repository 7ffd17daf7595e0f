"""What a study found: a record of every run, the table, the verdict, and the forms they take."""
