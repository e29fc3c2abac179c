"""`python -m fairgear`."""

import sys

from fairgear.cli import main

sys.exit(main())
