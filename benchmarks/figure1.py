"""The paper's Figure 1 with its methods and ours: labels for each half-width α (N = 10⁷, p_min = .5, Δ = 100, δ = .05).

    python -m benchmarks.figure1 [--readme]

writes figure1.svg beside this file, prints the table, and puts both into the README if asked.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import altair as alt

from benchmarks.readme import markdown, write_section
from streameval.methods import create

N, P_MIN, DELTA, WINDOW = 10**7, 0.5, 0.05, 100
EPSILONS = ("0.005", "0.01", "0.015", "0.02", "0.025", "0.03", "0.035", "0.0385")
PICTURE = Path(__file__).with_name("figure1.svg")
METHODS = {
    "uniform": "uniform, eq. 5",
    "exact": "uniform, exact",
    "stratified": "stratified, any list",
    "paula": "PAULA, if A.1 and A.2 hold",
    "loguniform": "loguniform, any list",
}


def labels_at(epsilon: str) -> dict[str, float]:
    """α = γ(1+ε) − 1 of PAULA, and the labels that each method takes for it."""
    paula = create("paula", {"epsilon": epsilon, "window": WINDOW}).cost(N)
    alpha = paula["accuracy"]
    sampling = {"alpha": alpha, "confidence": 1 - DELTA, "min_precision": P_MIN}
    return {
        "alpha": alpha,
        "uniform": create("uniform", sampling).cost(N)["labels"],
        "exact": create("uniform", {**sampling, "interval": "hypergeometric"}).cost(N)["labels"],
        "stratified": create("stratified", {**sampling, "epsilon": epsilon}).cost(N)["labels"],
        "paula": paula["labels"],
        "loguniform": create("loguniform", sampling).cost(N)["labels"],
    }


def draw(found: list[dict[str, float]]) -> None:
    """Labels by α, on a log axis as in the paper."""
    rows = [
        {"α": row["alpha"], "labels": round(row[key]), "method": name} for row in found for key, name in METHODS.items()
    ]
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line(point=True)
    x = alt.X("α:Q", axis=alt.Axis(format=".0%"), title="half-width α", scale=alt.Scale(zero=False))
    y = alt.Y("labels:Q", scale=alt.Scale(type="log"), title="labels (log scale)", axis=alt.Axis(format="~s"))
    order = list(METHODS.values())
    chart = lines.encode(x=x, y=y, color=alt.Color("method:N", sort=order), shape=alt.Shape("method:N", sort=order))
    chart.properties(width=480, height=300).save(str(PICTURE))


def main() -> None:
    """Print the table, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    found = [labels_at(epsilon) for epsilon in EPSILONS]
    head = ["α", *METHODS.values(), "lowest"]
    rows = []
    for row in found:
        lowest = min(METHODS, key=lambda key: row[key])
        rows.append([f"{row['alpha']:.1%}", *(f"{row[key]:,.0f}" for key in METHODS), lowest])
    table = markdown(head, rows)
    print(table)
    draw(found)
    if options.readme:
        write_section("figure1", f"![Labels by half-width](figure1.svg)\n\n{table}")


if __name__ == "__main__":
    main()
