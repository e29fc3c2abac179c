"""Tests of the what-if explorer."""
