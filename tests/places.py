"""Where tests find what is not theirs."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
HOME = TESTS.parent  # of the repository
SHARED = HOME.parent / "shared"  # real lists and stored attacks: beside a developer's checkout, not in the repository
RECORDED = TESTS / "recorded"  # what other programs once wrote or answered
