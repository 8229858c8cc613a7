"""Put one defect after another into a copy of the package, and see that a test fails for each (`scripts/mutations`)."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HOME = Path(__file__).resolve().parents[1]
SHARED = HOME.parent / "shared"  # what tests read beside a checkout
PATIENCE = 1200  # seconds after which tests that do not end count as failed
KILLED, SURVIVED, BROKEN = "killed by", "SURVIVED", "FAILS WITHOUT IT TOO:"
# tests may take any time: kernels of a mutant are compiled
PYTEST = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "-p", "no:cpu_budget"]


@dataclass(frozen=True)
class Mutation:
    """A defect.

    Attributes:
        name: What is wrong then.
        file: Below streameval/.
        old, new: Text that is in the file once, and what takes its place.
        tests: Files or folders to run, the folder of a file where that is gone; where none fails, all of the folders.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTATIONS = [
    # the kernels of bounds
    Mutation("martingale-half-error", "kernels/martingale.py", "math.log(2 / delta)", "math.log(1 / delta)",
             "tests/methods/test_martingale.py"),
    Mutation("paired-variance-factor", "kernels/paired_count.py", "items / drawn * (items - drawn)",
             "items / drawn * items", "tests/paired/test_count.py"),
    Mutation("block-evidence-sign", "kernels/block_evidence.py", "g if bad[t] else g + y", "g + y if bad[t] else g",
             "tests/sequential/test_linear.py"),
    Mutation("paula-window-longer", "kernels/paula.py", "np.maximum(0, last - window + 1)]",
             "np.maximum(0, last - window)]", "tests/methods/test_laws.py"),
    Mutation("hoeffding-one-sided", "methods/uniform/sample_size.py", "np.log(2 * items / d)", "np.log(items / d)",
             "tests/methods/test_sampling.py"),
    Mutation("tied-negatives", "kernels/segments.py", "histogram[0] = n - (b - a)", "histogram[0] = n",
             "tests/kinds/rankings/test_rankings.py"),
    Mutation("group-sums-late", "kernels/group_sums.py", "late += (found + i - (n - p)) * share",
             "late += (found + i) * share", "tests/counting/test_sums.py"),
    Mutation("harmonic-series-sign", "kernels/harmonic.py", "rest -= (1.0 / c - 1.0 / d)",
             "rest += (1.0 / c - 1.0 / d)", "tests/curve/test_bounds.py"),
    Mutation("strata-last-never-drawn", "kernels/draw.py", "np.uint64(width - t)", "np.uint64(width - t - 1)",
             "tests/methods/test_laws.py"),
    Mutation("hypergeometric-two-sided", "kernels/hypergeometric.py",
             "_smallest(k_low[i], drawn[i], items[i], delta / 2)", "_smallest(k_low[i], drawn[i], items[i], delta)",
             "tests/methods/test_sampling.py"),
    # ranks
    Mutation("locate-next-bin", "order/locate.py", 'search.wanted, side="left"))', 'search.wanted, side="right"))',
             "tests/order/test_score_order.py"),
    Mutation("ties-by-position", "order/locate.py", "[items.position, items.hash, *",
             "[items.hash, items.position, *", "tests/order/test_score_order.py"),
    Mutation("tie-seed", "kernels/order.py", "0x7469656861736831", "0x7469656861736832",
             "tests/order/test_score_order.py"),
    Mutation("rows-wrong-way-back", "rows/__init__.py", "taken.table.take(pa.array(back))",
             "taken.table.take(pa.array(order))", "tests/order/test_score_order.py"),
    Mutation("page-before", "kernels/page_index.py", "wanted[row] < after:", "wanted[row] <= after:",
             "tests/parquet/test_find_pages.py"),
    Mutation("tops-one-deeper", "paired_draws/tops.py", ".astype(np.uint64)[None] - np.uint64(1))",
             ".astype(np.uint64)[None])", "tests/paired_draws/test_drawing.py"),
    # what is on the disk, and who may write it
    Mutation("file-not-synced", "stores/atomic.py", "                sync(temporary)\n", "",
             "tests/study/test_own_files.py"),
    Mutation("answer-not-synced", "study/answer_journal.py", "            os.fsync(self._file)\n", "",
             "tests/study/test_answer_journal.py"),
    Mutation("study-not-locked", "stores/locks.py", "            _wait(handle, folder)\n", "",
             "tests/journeys/test_at_once.py"),
    Mutation("journal-not-locked", "study/answer_journal.py", '== "busy":', '== "unknown":',
             "tests/study/test_answer_journal.py"),
    Mutation("page-checksum-skipped", "parquet/checks.py", "zlib.crc32(raw[begin : begin + size]) != crc", "crc < 0",
             "tests/parquet/test_damaged_parquet.py"),
    Mutation("own-checksum-skipped", "stores/own_files.py", "        checksum.check(content)\n", "",
             "tests/study/test_own_files.py"),
    Mutation("spill-without-remainder", "spill/item_files.py", "order.size * edge // pieces for",
             "order.size // pieces * edge for", "tests/verbs/test_cut.py"),
    Mutation("saved-partials-dropped", "scans/checkpoints.py", "[*map(_Saved.load, kept), made]", "[made]",
             "tests/scans/test_shards.py"),
    Mutation("checkpoint-of-another-list", "scans/checkpoints.py", "{__version__}\\0{self.identity}\\0{task.digest}",
             "{__version__}\\0{task.digest}", "tests/scans/test_shards.py"),
    Mutation("passing-trouble-not-retried", "stores/trouble.py", "in reversed(range(_TRIES)):", "in (0,):",
             "tests/stores/test_object_stores.py"),
    Mutation("manifest-first", "stores/publish.py",
             "            sender.name()\n            claim.refuse_lost()\n            _publish(place, last, "
             "(room / last).read_bytes(), sender.names)\n",
             "            _publish(place, last, (room / last).read_bytes(), [])\n            sender.name()\n",
             "tests/stores/test_writing_to_stores.py"),
    Mutation("interrupt-swallowed", "process/interrupts.py", "signal.raise_signal(arrived[0])", "pass",
             "tests/process/test_interrupts.py"),
    Mutation("memory-not-passed-on", "cli/commands/sql.py", "or []), memory=memory)", "or []))",
             "tests/journeys/test_memory.py"),
    # labels
    Mutation("tie-is-positive", "labelling/rules.py", "_three_ways(2 * counts.positive > counts.votes,",
             "_three_ways((counts.votes > 0) & (2 * counts.positive >= counts.votes),",
             "tests/labelling/test_votes.py"),
    Mutation("skip-is-a-vote", "labelling/fates.py", "CASE state WHEN 'answer' THEN 'vote' ELSE 'skipped' END",
             "'vote'", "tests/labelling/test_votes.py"),
    Mutation("file-counts-twice", "labelling/fates.py", "ELSE 'again' END", "ELSE 'vote' END",
             "tests/labelling/test_votes.py"),
    Mutation("votes-swapped", "labelling/tally.py", "Labels(plan.ranks, label, counts.votes, counts.positive, account",
             "Labels(plan.ranks, label, counts.positive, counts.votes, account", "tests/labelling/test_label_tools.py"),
    Mutation("judge-class-boundary", "judges/values.py", "np.asarray(numbers >= (", "np.asarray(numbers > (",
             "tests/judges/test_judge.py"),
    # bounds and what is claimed
    Mutation("next-bound-swapped", "curve/envelope.py", '"next_yield_lower": self.lower[after]',
             '"next_yield_lower": self.upper[after]', "tests/study/test_sql.py"),
    Mutation("looks-share-too-much", "methods/loguniform/design.py", "delta / (look * (look + 1))", "delta / look",
             "tests/kinds/curve/test_looks.py"),
    Mutation("conditions-not-together", "sequential/condition.py", "float(delta), float(delta / together)",
             "float(delta), float(delta)", "tests/sequential/test_gate.py"),
    Mutation("question-stops-early", "sequential/condition.py", "_first_reached(wins >= bounds.up)",
             "_first_reached(wins + 1 >= bounds.up)", "tests/sequential/test_gate.py"),
    Mutation("condition-not-said", "curve/label_error.py",
             'f" if {curve.claim.assumes}," if claim.coverage == "conditional" else ""', '""',
             "tests/methods/test_paula_claim.py"),
    Mutation("adopted-claim-unconditional", "methods/adopted/method.py",
             "if the labels were drawn as stated, {labels.about}", "{labels.about}", "tests/verbs/test_adopt.py"),
    Mutation("adopted-probability", "methods/adopted/steps.py", "any_here += here * (1.0 - any_here)",
             "any_here += here", "tests/methods/test_adopted_band.py"),
    Mutation("cut-too-deep", "kinds/curve/cut.py", "return int(deepest)", "return int(deepest) + 1",
             "tests/verbs/test_cut.py"),
    Mutation("wrong-slice", "slices/pool.py", "inside[:, at]) for", "inside[:, at - 1]) for",
             "tests/slices/test_slices.py"),
    Mutation("looks-not-intersected", "methods/loguniform/method.py",
             "np.max([one.lower for one in bands], axis=0), np.min([one.upper for one in bands], axis=0)",
             "bands[-1].lower, bands[-1].upper", "tests/kinds/curve/test_looks.py"),
    Mutation("days-share-too-much", "kinds/curve/history.py", "(1 - self.settings.confidence) / 2",
             "1 - self.settings.confidence", "tests/verbs/test_monitor.py"),
    Mutation("day-not-intersected", "kinds/curve/history.py", "both = max(sides[0], level[0]), min(sides[1], level[1])",
             "both = sides", "tests/verbs/test_monitor.py"),
    Mutation("difference-sign", "kinds/paired/evaluate.py", "items.sizes[j, 0, 1] - items.sizes[j, 1, 1]",
             "items.sizes[j, 1, 1] - items.sizes[j, 0, 1]", "tests/kinds/paired/test_paired.py"),
    Mutation("missing-label-is-negative", "per_query/bounds.py", "== 1 for missing in (0, 1)",
             "== 1 for missing in (0, 0)", "tests/kinds/drawn_rankings/test_drawn_sample.py"),
    # metrics
    Mutation("recall-without-misses", "curve/at_cutoff.py", "_quotient(at.found, at.positives + at.misses)",
             "_quotient(at.found, at.positives)", "tests/curve/test_estimated.py"),
    Mutation("precision-of-ties", "kernels/tied_items.py", "slope = (p - 1.0) / (n - 1.0)", "slope = p / n",
             "tests/kinds/rankings/test_rankings.py"),
    Mutation("discount-of-next-rank", "kernels/tied_items.py", "range(2, count + 2)", "range(3, count + 3)",
             "tests/kinds/rankings/test_rankings.py"),
    Mutation("macro-off-by-one", "study/database/macros.py", "greatest(se_lo, se_lo2 - (se_b - se_k)) AS se_low",
             "greatest(se_lo, se_lo2 - (se_b - se_k - 1)) AS se_low", "tests/study/test_sql.py"),
    # what people see
    Mutation("failed-check-passes", "cli/commands/check.py", '"fail": EXIT_FAILS}.get(outcome, EXIT_INCONCLUSIVE)',
             '"fail": EXIT_FAILS}.get(outcome, EXIT_DONE)', "tests/verbs/test_check.py"),
    Mutation("outside-is-input", "errors.py", "exit_status = EXIT_OUTSIDE", "exit_status = EXIT_INPUT",
             "tests/journeys/test_journey.py"),
    Mutation("markup-in-page", "reporting/layout.py", "<strong>{escaped(name)}.", "<strong>{name}.",
             "tests/kinds/curve/test_report.py"),
    Mutation("query-value-shown", "text/credentials.py", 'scheme + _QUERY_VALUE.sub(rf"\\1{_HIDDEN}", rest)',
             "scheme + rest", "tests/text/test_credentials.py"),
    Mutation("formula-in-cell", "labelling/exports/csv_tasks.py", "[harmless(text(value)) for", "[text(value) for",
             "tests/labelling/test_label_tools.py"),
]  # fmt: skip


def main() -> int:
    """Run mutations and say what killed each; return 1 if any was not."""
    parser = argparse.ArgumentParser(prog="scripts/mutations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations; all where none is named")
    parser.add_argument("--tests", type=Path, default=HOME, metavar="DIR", help="checkout whose tests are run")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {one.name for one in MUTATIONS}:
        parser.error(f"there is no mutation {', '.join(sorted(unknown))}")
    chosen, outcomes = [one for one in MUTATIONS if not asked.names or one.name in asked.names], Counter[str]()
    for one in chosen:
        if (HOME / "streameval" / one.file).read_text(encoding="utf-8").count(one.old) != 1:
            parser.error(f"{one.name}: {one.old!r} is not in {one.file} once; write the mutation anew")
    with TemporaryDirectory(prefix="streameval-mutations-") as folder:
        home = copy_checkout(Path(folder), asked.tests.resolve())
        for one in chosen:
            began = time.monotonic()
            outcome, test = run_mutation(home, one)
            outcomes[outcome] += 1
            print(f"{one.name:30} {time.monotonic() - began:5.0f} s  {outcome} {test}".rstrip(), flush=True)
    print(", ".join(f"{number} {outcome.lower().removesuffix(' by')}" for outcome, number in outcomes.most_common()))
    return int(outcomes.keys() != {KILLED})


def copy_checkout(folder: Path, tests: Path) -> Path:
    """Copy this checkout, with the tests of another one, and its compiled kernels; return where the copy is."""
    home = folder / HOME.name
    copy_files(HOME, home)
    if tests != HOME:
        shutil.rmtree(home / "tests")
        copy_files(tests, home, "tests", "pyproject.toml")
    if SHARED.exists():
        (folder / SHARED.name).symlink_to(SHARED)
    kept = Path("streameval/kernels/__pycache__")
    (home / kept).mkdir()
    for path in (HOME / kept).glob("*.kernel"):
        shutil.copy2(path, home / kept)
    return home


def copy_files(checkout: Path, to: Path, *below: str) -> None:
    """Copy the files of a checkout, those that are not committed yet included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *below]
    names = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (checkout / name).is_file():  # else it was removed, and that is not committed yet
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, to / name)


def run_mutation(home: Path, mutation: Mutation) -> tuple[str, str]:
    """Say whether a test fails that passes without the mutation, and which."""
    path, tests = home / "streameval" / mutation.file, [existing(home, one) for one in mutation.tests.split()]
    rooms = [one if (home / one).is_dir() else str(Path(one).parent) for one in tests]
    whole = path.read_text(encoding="utf-8")
    # machine code is kept for one state of all kernels: a mutant's would take the place of the sound one's
    with TemporaryDirectory() as compiled:
        variables = {"NUMBA_CACHE_DIR": compiled} if mutation.file.startswith("kernels/") else {}
        path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
        failed = first_failure(home, tests, variables)
        if not failed and rooms != tests:
            failed = first_failure(home, rooms, variables)
        path.write_text(whole, encoding="utf-8")
    if not failed:
        return SURVIVED, ""
    return (BROKEN if failed.startswith("tests/") and first_failure(home, [failed], {}) else KILLED), failed


def existing(home: Path, name: str) -> str:
    """Find a file or folder of tests; where it is gone, the next folder that is there."""
    return name if (home / name).exists() else existing(home, str(Path(name).parent))


def first_failure(home: Path, tests: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run tests until one fails, and name it; empty where all pass."""
    environment = {**os.environ, "PYTHONPATH": str(home), **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", *PYTEST, *tests]
    with open(home.parent / "said", "w+", encoding="utf-8", errors="replace") as said:
        run = subprocess.Popen(command, cwd=home, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            status = run.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return f"no end within {PATIENCE} seconds"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)  # what tests have started and left behind, too
        said.seek(0)
        text = said.read()
    if status in (4, 5):
        raise SystemExit(f"no tests were run: {text}")
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", text, re.MULTILINE)
    return "" if status == 0 else found[1] if found else f"status {status}"


if __name__ == "__main__":
    sys.exit(main())
