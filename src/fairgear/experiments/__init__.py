"""Experiments: one run from its settings to its folder of results."""
