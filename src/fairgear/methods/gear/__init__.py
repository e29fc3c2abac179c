"""Gear: node representations that are alike under a family of causal models."""
