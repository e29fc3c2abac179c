"""Studies: many runs of many methods, their tables, and what they say about the paper's claims."""
