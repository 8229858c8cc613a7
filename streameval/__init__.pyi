# Made from the code by `scripts/reference`.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import polars as pl

from streameval.curve import Curve as Curve
from streameval.errors import InputError as InputError
from streameval.errors import OutsideError as OutsideError
from streameval.errors import StreamevalError as StreamevalError
from streameval.errors import StudyError as StudyError
from streameval.kinds.drawn_rankings.results import RankingsSample as RankingsSample
from streameval.kinds.rankings.results import RankingsEvaluation as RankingsEvaluation
from streameval.kinds.results import StudyResult
from streameval.labelling.options import LabelsAre
from streameval.methods.adopted.designs import DrawValue
from streameval.metrics.arrays import average_precision_score as average_precision_score
from streameval.metrics.arrays import precision_recall_curve as precision_recall_curve
from streameval.metrics.arrays import roc_auc_score as roc_auc_score
from streameval.metrics.arrays import roc_curve as roc_curve
from streameval.metrics.lingpipe import ScoredPrecisionRecallEvaluation as ScoredPrecisionRecallEvaluation
from streameval.progress import Progress
from streameval.questions import Question as Question
from streameval.rankings import open_ranking as open_ranking
from streameval.rows.options import RankingOptions as RankingOptions
from streameval.scans.jobs import Engine
from streameval.stores.atomic import Existing
from streameval.study import Study as Study
from streameval.study.cut_files import Cut as Cut
from streameval.study.history import History as History
from streameval.study.progress import LabellingProgress
from streameval.study.results import Evaluation as Evaluation
from streameval.types import Claim as Claim
from streameval.types import Labels as Labels
from streameval.types import Plan as Plan
from streameval.verbs.check import check as check
from streameval.verbs.compare import compare as compare
from streameval.verbs.compile import compile as compile
from streameval.verbs.cost import Costs
from streameval.verbs.cut import cut as cut
from streameval.verbs.extrapolate import extrapolate as extrapolate
from streameval.verbs.extrapolate import extrapolate_study as extrapolate_study
from streameval.verbs.label import Served
from streameval.verbs.labels import labels as labels
from streameval.verbs.monitor import monitor as monitor
from streameval.verbs.publish import publish as publish
from streameval.verbs.register import register as register
from streameval.verbs.report import report as report
from streameval.verbs.scan import scan as scan
from streameval.verbs.select import Selection
from streameval.verbs.show import show as show
from streameval.verbs.simulate import SimulationResult
from streameval.verbs.sql import sql as sql

__version__: str

def adopt(
    ranking: Any,
    study: str | os.PathLike[str],
    labels: Any,
    *,
    drawn: str | DrawValue,
    options: RankingOptions | None = ...,
    confidence: float = ...,
    stages: int | str | None = ...,
    seed: int | None = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    on: Sequence[str] | str | None = ...,
    label: str | None = ...,
    annotator: str | None = ...,
    time: str | None = ...,
    source: str | None = ...,
) -> Plan: ...
def cost(
    ranking: Any = ...,
    *,
    items: int | None = ...,
    method: str | tuple[str, ...] | Sequence[str] | None = ...,
    options: RankingOptions | None = ...,
    price_per_label: float | None = ...,
    judge: str | None = ...,
    drawn: str | None = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    stages: int | str | None = ...,
    questions: Question | Sequence[str | Question] | str | None = ...,
    against: Any = ...,
    against_score: str | None = ...,
    engine: Any = ...,
) -> Costs: ...
def evaluate(
    study: str | os.PathLike[str],
    *,
    labels: Sequence[Any] | Any = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    on: Sequence[str] | str | None = ...,
    label: str | None = ...,
    annotator: str | None = ...,
    time: str | None = ...,
    source: str | None = ...,
    vote: str | None = ...,
    prefer: Sequence[str] | None = ...,
    label_error: float | None = ...,
    assume: Literal["a2", "independent", "complete"] | None = ...,
    labels_are: Literal["answers", "positives"] | None = ...,
    strict: bool | None = ...,
    misses: Any = ...,
    positives: Any = ...,
    key: str | None = ...,
) -> StudyResult: ...
@overload
def exact(
    ranking: Any,
    *,
    label: str = ...,
    labels: Any = ...,
    on: str | tuple[str, ...] | None = ...,
    labels_are: LabelsAre = ...,
    misses: int = ...,
    sample_of: str | Sequence[str] | None = ...,
    method: str | Sequence[str] | None = ...,
    out: str | os.PathLike[str] | None = ...,
    options: RankingOptions | None = ...,
    engine: Engine | str = ...,
    progress: Progress = ...,
    per: None = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    relevant: str | None = ...,
    at: Sequence[str] | None = ...,
    positives: Any = ...,
) -> Evaluation: ...
@overload
def exact(
    ranking: Any,
    *,
    label: str = ...,
    per: str | Sequence[str],
    rows: Literal["kept", "left out"] = ...,
    out: str | os.PathLike[str] | None = ...,
    options: RankingOptions | None = ...,
    progress: Progress = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    relevant: str | None = ...,
    at: Sequence[str] | None = ...,
    positives: Any = ...,
) -> RankingsEvaluation: ...
def grow(
    study: str | os.PathLike[str],
    *,
    budget: int | None = ...,
    alpha: float | None = ...,
) -> Plan: ...
def judge(
    study: str | os.PathLike[str],
    answers: Sequence[Any] | Any = ...,
    *,
    command: str | None = ...,
    rate: float | None = ...,
    columns: str | Sequence[str] | None = ...,
    price_per_label: float | None = ...,
    ranking: Any = ...,
    progress: Progress = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    on: Sequence[str] | str | None = ...,
    label: str | None = ...,
) -> Plan: ...
def label(
    study: str | os.PathLike[str],
    *,
    people: str | tuple[str, ...] | Sequence[str] = ...,
    host: str = ...,
    url: str | None = ...,
    overlap: str | float | None = ...,
    columns: str | Sequence[str] | None = ...,
    ranking: Any = ...,
    engine: Engine | str = ...,
    progress: Progress = ...,
    served: Callable[[Served], None] = ...,
    ask: str | None = ...,
    positive: str | None = ...,
    negative: str | None = ...,
    guidelines: os.PathLike[str] | str | None = ...,
    image: Sequence[str] | None = ...,
    image_root: os.PathLike[str] | str | None = ...,
) -> LabellingProgress: ...
def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = ...,
    seed: int | None = ...,
    options: RankingOptions | None = ...,
    by: str | None = ...,
    progress: Progress = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    stages: int | str | None = ...,
    judge: str | None = ...,
    on: Sequence[str] | str | None = ...,
    reuse: Any = ...,
    label: str | None = ...,
    labels_unseen_by_model: Literal["yes", "no"] | None = ...,
    per: Sequence[str] | None = ...,
    questions: Question | Sequence[str | Question] | str | None = ...,
    against: Any = ...,
    against_score: str | None = ...,
    engine: Any = ...,
) -> Plan: ...
def scan_ranking(
    source: Any,
    *,
    options: RankingOptions | None = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
) -> pl.LazyFrame: ...
def select(
    study: str | os.PathLike[str],
    *,
    ranking: Any = ...,
    columns: str | Sequence[str] | None = ...,
    export: str | os.PathLike[str] | None = ...,
    engine: Engine | str = ...,
    progress: Progress = ...,
    ask: str | None = ...,
    positive: str | None = ...,
    negative: str | None = ...,
    guidelines: os.PathLike[str] | str | None = ...,
    image: Sequence[str] | None = ...,
    image_root: os.PathLike[str] | str | None = ...,
    remaining: bool | None = ...,
    repeats: int | None = ...,
    controls: Any = ...,
) -> Selection: ...
def simulate(
    ranking: Any,
    *,
    label: str,
    method: str | tuple[str, ...] | Sequence[str] | None = ...,
    replicates: int = ...,
    seed: int = ...,
    judge: str | None = ...,
    plot: str | os.PathLike[str] | None = ...,
    existing: Existing = ...,
    options: RankingOptions | None = ...,
    progress: Progress = ...,
    score: str | None = ...,
    key: Sequence[str] | None = ...,
    nan: Literal["refuse", "last"] | None = ...,
    file_order: Literal["natural", "lexical"] | None = ...,
    where: str | None = ...,
    memory: float | None = ...,
    threads: int | None = ...,
    verify: Literal["on", "off"] | None = ...,
    alpha: float | None = ...,
    confidence: float | None = ...,
    min_precision: float | None = ...,
    budget: int | None = ...,
    stages: int | str | None = ...,
    positive: Sequence[str] | None = ...,
    negative: Sequence[str] | None = ...,
    relevant: str | None = ...,
) -> SimulationResult: ...
