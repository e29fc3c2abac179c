"""What the maintainers measure, and the commands that write the tables of docs/."""
