"""`streameval show`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.options import Switch
from streameval.cli.output import Output, columns


def show(
    study: Path,
    /,
    *measures: str,
    slice: str | None = None,
    standard_error: Switch = False,
    output: Output = Output(),
) -> None:
    """Show where a study stands; or the bounds of measures, as precision@10000.

    Example: streameval show my-study
    Example: streameval show my-study precision@10000 recall@precision:0.9 precision@score:0.7
    Example: streameval show my-results map ndcg@10

    Args:
        study: Folder of a study, or of exact results, of one ranking or of many.
        measures: METRIC[@CUTOFF]. The cutoff is a number of items (10000), a share of the list (1%), a score
            (score:0.7: all items of that score or better), a precision (recall@precision:0.9, rank@precision:0.9: at
            the deepest rank that has it) or a recall (precision@recall:0.5, rank@recall:0.5). Metrics are precision,
            recall, f1, f2 and others of a cutoff, yield (positives), rank, score; of the whole list positives,
            average_precision, roc_auc, max_f1 and others. Of many rankings the means are asked for: map, ndcg@10.
        slice: Ask of one slice of a study planned with --by; cutoffs are then those within it.
        standard_error: Tell the standard error of precision after a number of items: approximate, and for that number
            alone.
    """
    from streameval.reporting.text import Standing
    from streameval.verbs.show import show as verb

    answers = verb(study, *measures, slice=slice, standard_error=standard_error)
    if isinstance(answers, Standing):
        output.say(answers.as_dict(), repr(answers).splitlines())
        return
    result = {"study": str(study), "measures": answers.rows(), "claim": answers.claim.as_dict(),
              "estimates": answers.estimates}  # fmt: skip
    rows = [[name, *answers.cells(name)] for name in answers.bounds]
    lines = [*columns(["", "lower", "estimate", "upper"], rows), answers.promise]
    if standard_error:
        result["standard_error"] = answers.standard_errors
        lines += [_standard_error(*one) for one in answers.standard_errors.items()]
    output.say(result, lines)


def _standard_error(measure: str, error: float | None) -> str:
    if error is None:
        return f"Standard error of {measure}: unknown, as too few labels of a random draw say something of it."
    alone = "approximate, and for this rank alone; the bounds hold for all ranks at once"
    return f"Standard error of {measure}: {error:.4g} ({alone})."
