"""Benchmarks: what fairgear costs on this machine, beside other ways to the same result."""
