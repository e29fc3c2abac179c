"""Judging: methods compared by equal rules, on people whom no choice has seen."""
