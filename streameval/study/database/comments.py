"""Comments on the columns of `study.duckdb`, for who reads them in a database browser."""

from __future__ import annotations

TABLES = {
    "plan": "Ranks that the method planned to label.",
    "selection": "The items to label, with the columns that the ranking's files have.",
    "labels": "One row per planned rank; label is null where there is none. Ranks may be drawn more densely near the "
    "top: an average over the list is weighted_mean(label, weight), and avg(label) is none.",
    "curve": "Bounds at every rank of a fully labelled head, at grid points, and at the last rank.",
    "envelope": "Breakpoints of the bounds on the yield Y. At rank r, with the row of the largest rank <= r: "
    "Y >= greatest(yield_lower, next_yield_lower - (next_rank - r)), "
    "Y <= least(next_yield_upper, yield_upper + (r - rank)); the estimate runs straight from yield to next_yield.",
    "metrics": "Every metric with bounds; null where it is undefined.",
    "calibration": "A row for each tenth of the scores from 0 to 1, where all scores of a labelled list lie there.",
    "slices": "One row per slice: its size, its labels, and what its bounds claim; all of them hold together.",
    "slice_curve": "The curve of every slice; ranks are those within the slice.",
    "slice_envelope": "Breakpoints of the bounds on the yield of every slice, as in envelope; ranks within the slice.",
    "slice_metrics": "Every metric of every slice.",
    "slice_counts": "How many items of each slice are among the first of the list: slice_rank of them among rank.",
    "provenance": "One row: what was evaluated, and what its bounds claim.",
}

BOUNDS = tuple(name for name in TABLES if name not in ("plan", "selection", "slice_counts", "calibration"))
"""Tables that a claim is about."""
_SIDES = {
    "yield": "positives among the items of ranks 1 to rank",
    "precision": "share of positives among the items of ranks 1 to rank",
    "recall": "share of all positives, misses included, among the items of ranks 1 to rank",
    "f1": "harmonic mean of precision and recall of the items of ranks 1 to rank",
}
_INTERVALS = {
    "hoeffding": "by Hoeffding's inequality, at this rank alone",
    "hypergeometric": "by the exact hypergeometric interval, at this rank alone",
    "union": "by Hoeffding's inequality, at all grid points at once",
}
_COLUMNS = {
    "rank": "Place in the ranking, 1 is the best.",
    "stratum": "Stratum that the rank was drawn in, numbered by rank from 0.",
    "weight": "Items of the list that the label stands for in the estimated curve, 0 without a label: sum(weight * "
    "label) is the estimate of the positives, and weighted_mean(x, weight) the average of any x over the list. "
    "Null where there are no estimates.",
    "draw_weight": "One over the probability with which the rank was drawn. Null where ranks were not drawn at random "
    "(paula), or the model has seen the labels.",
    "next_yield": "Estimate of the yield at the next breakpoint.",
    "stratum_last": "Last rank of the stratum.",
    "probability": "Probability with which the draw takes the rank, whatever other ranks it takes.",
    "judge_class": "Class of what the judge says, numbered from 0 by its thresholds; the last is no answer.",
    "slice": "Value of the column that the plan was made by.",
    "slice_rank": "Place within the slice, 1 is the best; so many of its items are among the first rank of the list.",
    "is_item": "Whether the item at rank is the one at slice_rank; otherwise rank is any cutoff of the list.",
    "planned": "Ranks of the slice that the method planned to label.",
    "labelled": "Ranks of the slice that have a label.",
    "positive": "Ranks of the slice that are labelled positive.",
    "score": "Score of the item at that rank: the threshold of that cutoff.",
    "se_task": "Number of the task that people were given; a shuffle, so that it tells no rank.",
    "label": "1 positive, 0 negative, null none.",
    "votes": "Votes cast for that rank.",
    "positive_votes": "Votes that say positive.",
    "next_rank": "The next breakpoint.",
    "next_yield_lower": "Lower bound on the yield at the next breakpoint.",
    "next_yield_upper": "Upper bound on the yield at the next breakpoint.",
    "bracket_lower": "PAULA's q-: its bracket as the paper gives it; it can cross q+.",
    "bracket_upper": "PAULA's q+: its bracket as the paper gives it; it can cross q-.",
    "local_precision": "Share of positives in the window of labels that ends here.",
    "independent_lower": "Lower bound on precision from PAULA's labels if independent and never rising.",
    "independent_upper": "Upper bound on precision from PAULA's labels if independent and never rising.",
    "sampled_precision": "Mean label of the stratified sample of the first rank items.",
    "claimed_lower": "Lower end of the paper's claim for stratified sampling, if precision keeps min_precision.",
    "claimed_upper": "Upper end of the paper's claim for stratified sampling, if precision keeps min_precision.",
    "held_until": "For each slot that drew this rank, the last grid point at which it still holds it.",
    "look": "Stage at which the rank is first needed.",
    "batch": "Number of the batch of tasks that the rank came with.",
    "metric": "Name of the metric; *_at are at a cutoff, the rest of the whole list.",
    "argument": "Cutoff, recall, precision or convention that the metric is asked for.",
    "lower": "Lower bound.",
    "estimate": "Estimate inside the bounds; provenance.estimates says what it is made of.",
    "upper": "Upper bound.",
    "standard_error": "Standard error of the estimate, if the list is a sample of independent draws.",
    "low": "Lower end of an interval, no bound: approximately 95 %, if these are independent draws.",
    "high": "Upper end of an interval, no bound: approximately 95 %, if these are independent draws.",
    "no_interval": "Why there is no interval; null where there is one.",
    "bins": "Bins of draws, of 4,096, that have what the metric turns on.",
    "score_above": "Items of the row have a higher score than this; in the first row 0 too.",
    "score_up_to": "Items of the row have this score or a lower one.",
    "items": "How many items there are.",
    "mean_score": "Mean score of these items.",
    "share": "Share of positives among these items.",
    "share_low": "Lower end of the interval of Clopper and Pearson at 95 %, of a sample of independent rows.",
    "share_high": "Upper end of the interval of Clopper and Pearson at 95 %, of a sample of independent rows.",
    "coverage": "What the bounds claim: exact, simultaneous, pointwise (each by itself), conditional (on assumes), "
    "none (a picture).",
    "evaluation_id": "Hash of plan, labels, misses and version: the same in every result file.",
    "study": "Hash of the plan.",
    "version": "Version of streameval.",
    "method": "Method that planned the ranks.",
    "parameters": "Its parameters, as JSON.",
    "seed": "Seed of the draw.",
    "fingerprint": "Hash over the ranking's files, or of a table in memory.",
    "n_items": "Items in the ranking: N.",
    "misses": "Positives that the ranking never returned; their lower bound, where another study bounds them.",
    "misses_upper": "Upper bound on the positives that the ranking never returned; misses, where they are known.",
    "positives": "Estimate of the positives in the ranking, Y(N); null where there is none.",
    "misses_estimate": "Estimate of the positives that the ranking never returned, or their number where it is known.",
    "positives_lower": "Lower bound on the positives in the ranking, Y(N).",
    "positives_upper": "Upper bound on the positives in the ranking, Y(N).",
    "confidence": "Probability that the claim holds; null where it is not one of chance.",
    "assumes": "What must be true of the list for the claim to hold.",
    "about": "What the bounds are bounds of: the truth, or what the annotators would say.",
    "why": "Who gave how many labels and how far they agree, where the claim is not about the truth; else empty.",
    "estimates": "What estimates are made of: labels, or labels at hand where some are missing. There is no estimate "
    "where it says unknown or none; the report says why.",
    "center_lower": "Lower end of what the estimate is the middle of, while labels are missing.",
    "center_upper": "Upper end of what the estimate is the middle of, while labels are missing.",
    "proves": "False where the bounds are a picture only, or contradict each other.",
    "findings": "What the evaluation says of its bounds and of their assumptions, as JSON.",
    "command": "Commands that make the study again, in the folder STUDY.",
}


def comment_of(table: str, column: str) -> str:
    """Say what a column means; an item's own are only said to be that."""
    if table == "selection" and column not in ("rank", "stratum", "draw_weight", "score", "se_task"):
        return "Column of the items."
    if column in _COLUMNS:
        return _COLUMNS[column]
    name, _, side = column.partition("_")
    if name in _SIDES:
        what = {"lower": "Lower bound on the", "upper": "Upper bound on the"}.get(side, "Estimate of the")
        return f"{what} {_SIDES[name]}."
    if name in _INTERVALS:
        return f"{'Lower' if side == 'lower' else 'Upper'} bound on the precision, {_INTERVALS[name]}."
    return "Column of the method's own."
