"""Questions that compare two rankings, as people write them."""

from decimal import Decimal

from streameval.options import listed


def gain_questions(at, within=0.01, look="both"):
    """Questions about the gain at cutoffs: bounds that near, looked at once, at any time, or both."""
    cutoffs, width = ", ".join(listed(at)), Decimal(str(within))
    once, always = f"gain@{cutoffs} within {width:%}", f"gain@{cutoffs} > 0"
    return {"one": [once], "any": [f"{always} zone {width:%}"], "both": [once, always]}[look]


def gain_words(at, within=0.01, look="both"):
    """Give the same as words of a command."""
    return [word for text in gain_questions(at, within, look) for word in ("--for", text)]
