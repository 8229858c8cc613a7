"""Options that are spelt otherwise now: what says the same, for one release."""

from __future__ import annotations

_SPARK = {"--spark-remote": "--engine spark:VALUE"}
_TIME = {"--time-limit": "a command of the system: timeout 45m streameval …"}
_FIRST = {"--first": "a question: streameval plan LIST --study S --for 'precision@K within 0.03'"}
_PUBLISH = {"--publish": "a verb: streameval publish STUDY PLACE"}
_STAGES = {
    "--batches": "--stages=VALUE",
    "--looks": "--stages=3, or --stages=3:later where `grow` is to add the labels of later stages",
    "--growing": "--stages=3:later",
    "--adaptive": "--stages=adaptive",
}
_METHOD = {
    **{f"--{name}": f"--method 'paula({name}=VALUE)'" for name in ("window", "epsilon", "head", "tail", "assume")},
    "--claim": "--method 'stratified(claim=VALUE)'",
    "--interval": "--method 'uniform(interval=VALUE)'",
    **_STAGES,
}
_TERMS = {
    "--zone": "said behind the condition: --for 'precision@K >= 0.9 zone VALUE'",
    "--expect": "said behind the question: --for 'precision@K >= 0.9 expect VALUE'",
    "--round": "said behind the question: --for 'precision@K >= 0.9 round VALUE'",
    "--together": "said behind the question: --for 'precision@K >= 0.9 together'",
}
_COMPARED = {
    "--at": "said by the question: --for 'gain@VALUE'",
    "--within": "said by the question: --for 'gain@1000 within VALUE'",
    "--look": "said by the question: --for 'gain@1000 within 2%' is looked at once, 'gain@1000 > 0' at any time",
}
_SIZE = "--drawn 'uniform(size=VALUE)'"
_OF_ANY_LISTS = {
    name: hint.replace("question:", "question, where 80 % of the tops are the same:").replace(
        "--for", "--against 80% --for"
    )
    for name, hint in _COMPARED.items()
}
_OF_MANY = ("gain", "no_positives", "ties", "unjudged")
_MISSES = {"--misses-from": "--misses VALUE"}
_ORDER = {"--ascending": "--score=-COL, as in --score=-loss: small ones come first"}
_EXPECTED = {"--judge-sample": "--judge 'sample=VALUE'", "--judge-accuracy": "--judge 'accuracy=VALUE'"}
_JUDGE = {
    "--judge-classes": "--judge 'COLUMN(VALUE)'",
    **_EXPECTED,
    "--judge-accuracy": "--judge 'COLUMN(accuracy=VALUE)'",
}
RETIRED: dict[str, dict[str, str]] = {
    "plan": {
        **_TIME,
        **_FIRST,
        **_METHOD,
        **_JUDGE,
        **_TERMS,
        **_COMPARED,
        "--at": "said by the question: --for 'gain@VALUE' with --against, 'precision@VALUE' with --per",
        **_ORDER,
        "--continue": "a verb: streameval grow STUDY",
        "--cutoffs": "said by the question: --for 'precision@VALUE'",
        "--draw-by": "--on VALUE",
        "--half-width": "a verb: streameval grow STUDY --alpha X",
        "--item": "--key VALUE",
        "--labels-more": "a verb: streameval grow STUDY --budget N",
        "--rankings": "--budget N, as many labels: of 50 rankings and 'precision@10', --budget 500",
    },
    "select": {
        **_TIME,
        **_SPARK,
        "--export-judge": "--export FILE: until the judge has answered, it is for the judge",
        "--no": "--negative VALUE",
        "--question": "--ask VALUE",
        "--yes": "--positive VALUE",
    },
    "evaluate": {
        **_TIME,
        **_PUBLISH,
        "--item": "--key VALUE",
        **_MISSES,
        "--judge-labels": "a verb: streameval judge STUDY ANSWERS",
    },
    "grow": {
        "--labels": "--budget VALUE",
        "--half-width": "--alpha VALUE",
        "--rest": "the command without it: streameval grow STUDY",
    },
    "check": {"--summary": "--out VALUE"},
    "monitor": {
        "--at-score": "said by the measure: 'precision@score:0.7 >= 0.9'",
        "--day": "2026-11-22=STUDY",
        "--incomplete": "--allow incomplete",
        "--precision": "said by the measure: 'precision@10000 >= 0.9'",
    },
    "show": {"--standard-error": "the bounds that say how far an estimate may be off"},
    "cut": {
        **_MISSES,
        "--apply": "a query: streameval sql STUDY 'FROM next WHERE score >= 0.7' --with next=LIST --out FILE",
    },
    "report": {"--items": "--examples VALUE", "--plots": "--plot VALUE"},
    "label": {"--question": "--ask VALUE", "--port": "--host :VALUE"},
    "sql": {"--csv": "--out FILE.csv, or --out - to print it", "--parquet": "--out FILE.parquet"},
    "cost": {**_FIRST, **_METHOD, **_EXPECTED, **_TERMS, **_OF_ANY_LISTS, "--adopted": _SIZE, "--sample-size": _SIZE},
    "simulate": {
        **_FIRST,
        **_METHOD,
        **_JUDGE,
        **_ORDER,
        "--methods": "--method VALUE",
    },
    "exact": {
        **_ORDER,
        **_TIME,
        **_SPARK,
        **_PUBLISH,
        "--at-score": "--at 'score:VALUE'",
        "--cutoffs": "--at VALUE",
        "--item": "--key VALUE",
        "--window": "--method 'paula(window=VALUE)'",
        "--epsilon": "--method 'paula(epsilon=VALUE)'",
        **{f"--{name.replace('_', '-')}": f"--per 'query({name}=VALUE)'" for name in _OF_MANY},
    },
    "adopt": {
        **_ORDER,
        "--looks": "--stages VALUE:later",
        "--sample-size": _SIZE,
        "--strata": "--drawn 'strata(sizes=VALUE)'",
        "--probability": "--drawn 'poisson(probability=VALUE)'",
        "--least-probability": "--drawn 'poisson(probability=COL, least=VALUE)'",
        "--top": "--drawn 'strata(sizes=TABLE)'",
    },
    "scan": _SPARK,
}  # by verb: options that stood in the guides, and what says the same now


def now_spelt(verb: str, option: str, value: object) -> str:
    """Say how an option of a verb is spelt now, with the value that was given; nothing where it never was one.

    >>> now_spelt("plan", "--window", 50)
    "--method 'paula(window=50)'"
    """
    return RETIRED.get(verb, {}).get(option, "").replace("VALUE", str(value))
