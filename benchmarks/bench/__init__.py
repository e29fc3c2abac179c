"""Speed and memory of fairgear on this machine, beside other ways to the same result."""
