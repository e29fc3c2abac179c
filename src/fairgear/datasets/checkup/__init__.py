"""A file examined before anything is trained on it: every finding at once, with its remedy."""
