"""What an evaluation says of a question, whatever it is an evaluation of."""

from __future__ import annotations

from streameval.curve.bounds import Bounds
from streameval.questions import Question
from streameval.slices.files import SliceResult
from streameval.study import Study
from streameval.study.answers import curve, rankings
from streameval.study.rankings_files import RankingsEvaluation, is_many
from streameval.study.rankings_files import read_results as read_many
from streameval.study.rankings_sample import RankingsSample, is_sample, read_sample
from streameval.study.result_files import Evaluation
from streameval.types import Claim

Result = Evaluation | RankingsEvaluation | RankingsSample
_EXACT = Claim("exact", None, "every item has a label")


def evaluated(study: Study) -> Result:
    """Read the results of a study, or of `exact`, of one ranking or of many.

    Raises:
        StudyError: There are none, or they are of a former plan or of other labels.
    """
    if is_many(study.folder):
        return read_many(study.folder)
    if not is_sample(study.folder):
        return study.evaluation()
    found = read_sample(study.folder)
    study.refuse_stale(found.summary)
    return found


def answer(result: Result | SliceResult, question: Question) -> Bounds:
    """Bounds on a measure, and its estimate; NaN where it is undefined or nothing is known.

    Raises:
        InputError: The results have no such measure: names the nearest that they have.
    """
    if isinstance(result, Evaluation | SliceResult):
        return curve.answer(result, question)
    return rankings.answer(result, question)


def measures(result: Result | SliceResult) -> tuple[str, ...]:
    """What the results can be asked for: metrics of one ranking, or means of many with their cutoffs."""
    return curve.measures(result) if isinstance(result, Evaluation | SliceResult) else rankings.measures(result)


def claim_of(result: Result | SliceResult) -> Claim:
    """What the bounds promise."""
    if isinstance(result, Evaluation | SliceResult):
        return result.curve.claim
    return Claim(**result.summary["claim"]) if isinstance(result, RankingsSample) else _EXACT
