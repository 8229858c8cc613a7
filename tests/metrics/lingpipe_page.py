"""The ten cases on the page of LingPipe's class, and an evaluation of any cases."""

from streameval import ScoredPrecisionRecallEvaluation

SCORES = [-1.21, -1.27, -1.39, -1.47, -1.60, -1.65, -1.79, -1.80, -2.01, -3.70]
LABELS = [0, 1, 0, 1, 1, 0, 0, 0, 1, 0]
RULES = ("standard", "lingpipe")


def evaluation(labels, scores, misses=0, rules="standard"):
    made = ScoredPrecisionRecallEvaluation(rules)
    made.add_cases(labels, scores)
    made.add_misses(misses)
    return made
