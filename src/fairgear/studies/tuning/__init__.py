"""Tuning: a method's settings searched on a user's graph, for accuracy and few flips at once."""
