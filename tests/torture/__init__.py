"""A crash harness: `python -m tests.torture`, in full as `make torture`.

Every trial starts the program, does something to it or to what it reads and writes, and looks at
how it answers. What is allowed stands in `verdicts.py`, what is done in `kinds/`. `broken.py`
plants one defect for each kind, which it must find.
"""
