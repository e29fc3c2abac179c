"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# Times on a shared machine vary; a deadline would fail tests at random.
settings.register_profile("fairgear", deadline=None)
settings.load_profile("fairgear")
