"""One run or audit from the command line: its settings, its folder, its execution.

Nothing is imported here: `fairgear --help` reads settings without torch.
"""
