# Made from the code by `scripts/reference`.
import os
from collections.abc import Sequence
from typing import Any, Literal

from streameval.curve import Curve as Curve
from streameval.curve.extrapolation import extrapolate as extrapolate
from streameval.errors import InputError as InputError
from streameval.errors import OutsideError as OutsideError
from streameval.errors import StreamevalError as StreamevalError
from streameval.errors import StudyError as StudyError
from streameval.kinds.drawn_rankings.results import RankingsSample as RankingsSample
from streameval.kinds.rankings.results import RankingsEvaluation as RankingsEvaluation
from streameval.methods.replicates import Simulation
from streameval.metrics.arrays import average_precision_score as average_precision_score
from streameval.metrics.arrays import precision_recall_curve as precision_recall_curve
from streameval.metrics.arrays import roc_auc_score as roc_auc_score
from streameval.metrics.arrays import roc_curve as roc_curve
from streameval.metrics.lingpipe import ScoredPrecisionRecallEvaluation as ScoredPrecisionRecallEvaluation
from streameval.progress import Progress
from streameval.rankings import open_ranking as open_ranking
from streameval.rows.options import RankingOptions as RankingOptions
from streameval.study import Study as Study
from streameval.study.cut_files import Cut as Cut
from streameval.study.history import History as History
from streameval.study.result_files import Evaluation as Evaluation
from streameval.types import Claim as Claim
from streameval.types import Labels as Labels
from streameval.types import Plan as Plan
from streameval.verbs.adopt import adopt as adopt
from streameval.verbs.check import check as check
from streameval.verbs.compare import compare as compare
from streameval.verbs.cost import Costs
from streameval.verbs.cut import cut as cut
from streameval.verbs.enlarge import enlarge as enlarge
from streameval.verbs.evaluate import evaluate as evaluate
from streameval.verbs.exact import exact as exact
from streameval.verbs.extrapolate import extrapolate_study as extrapolate_study
from streameval.verbs.freeze_judge import freeze_judge as freeze_judge
from streameval.verbs.growth import growth as growth
from streameval.verbs.labels import labels as labels
from streameval.verbs.monitor import monitor as monitor
from streameval.verbs.plan_by_key import ByKey as ByKey
from streameval.verbs.plan_by_key import Reused
from streameval.verbs.publish import publish as publish
from streameval.verbs.register import register as register
from streameval.verbs.report import report as report
from streameval.verbs.scan import scan as scan
from streameval.verbs.second_batch import second_batch as second_batch
from streameval.verbs.select import select as select
from streameval.verbs.sql import sql as sql

__version__: str

def cost(
    items: Any,
    *,
    options: RankingOptions | None = ...,
    price_per_label: float | None = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    looks: int | None = ...,
    batches: int | None = ...,
    adaptive: bool | None = ...,
    judge_sample: int | None = ...,
    judge_accuracy: float | None = ...,
    epsilon: float | str | None = ...,
    window: int | None = ...,
    head: int | None = ...,
    tail: Literal["open", "closed"] | None = ...,
    assume: Literal["a2", "independent"] | None = ...,
    claim: Literal["printed", "factor"] | None = ...,
    at: int | None = ...,
    interval: Literal["hoeffding", "hypergeometric", "dkwm"] | None = ...,
) -> Costs: ...
def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = ...,
    seed: int | None = ...,
    options: RankingOptions | None = ...,
    by: str | None = ...,
    judge: str | None = ...,
    judge_classes: str | Sequence[float] | None = ...,
    progress: Progress = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    looks: int | None = ...,
    batches: int | None = ...,
    adaptive: bool | None = ...,
    judge_sample: int | None = ...,
    judge_accuracy: float | None = ...,
    epsilon: float | str | None = ...,
    window: int | None = ...,
    head: int | None = ...,
    tail: Literal["open", "closed"] | None = ...,
    assume: Literal["a2", "independent"] | None = ...,
    claim: Literal["printed", "factor"] | None = ...,
    at: int | None = ...,
    interval: Literal["hoeffding", "hypergeometric", "dkwm"] | None = ...,
) -> Plan: ...
def plan_by_key(
    ranking: Any,
    study: str | os.PathLike[str],
    by: ByKey,
    *,
    method: str = ...,
    seed: int | None = ...,
    options: RankingOptions | None = ...,
    progress: Progress = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    looks: int | None = ...,
    batches: int | None = ...,
    adaptive: bool | None = ...,
    judge_sample: int | None = ...,
    judge_accuracy: float | None = ...,
    epsilon: float | str | None = ...,
    window: int | None = ...,
    head: int | None = ...,
    tail: Literal["open", "closed"] | None = ...,
    assume: Literal["a2", "independent"] | None = ...,
    claim: Literal["printed", "factor"] | None = ...,
    at: int | None = ...,
    interval: Literal["hoeffding", "hypergeometric", "dkwm"] | None = ...,
) -> Reused: ...
def simulate(
    ranking: Any,
    *,
    label: str,
    methods: str | Sequence[str] = ...,
    replicates: int = ...,
    seed: int = ...,
    judge: str | None = ...,
    judge_classes: str | Sequence[float] | None = ...,
    options: RankingOptions | None = ...,
    progress: Progress = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    looks: int | None = ...,
    batches: int | None = ...,
    adaptive: bool | None = ...,
    judge_sample: int | None = ...,
    judge_accuracy: float | None = ...,
    epsilon: float | str | None = ...,
    window: int | None = ...,
    head: int | None = ...,
    tail: Literal["open", "closed"] | None = ...,
    assume: Literal["a2", "independent"] | None = ...,
    claim: Literal["printed", "factor"] | None = ...,
    at: int | None = ...,
    interval: Literal["hoeffding", "hypergeometric", "dkwm"] | None = ...,
) -> Simulation: ...
