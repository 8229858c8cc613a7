"""Where tests find what is not theirs."""

import tarfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
HOME = TESTS.parent  # of the repository
SHARED = HOME.parent / "shared"  # real lists and stored attacks: beside a developer's checkout, not in the repository
# what a process of a test does first that is one of our commands: else Arrow imports pandas, for a quarter of a second
AS_A_COMMAND = "from streameval.process.probes import refuse_probes; refuse_probes(); "
RECORDED = TESTS / "recorded"  # what other programs once wrote or answered


def unpack(archive, folder):
    """Unpack what earlier versions made into a folder, and give it."""
    with tarfile.open(RECORDED / archive) as studies:
        studies.extractall(folder, filter="data")
    return folder
