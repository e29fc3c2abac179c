"""What `docs/conf.py` makes pages with, and the check that they ask no other host for anything."""
