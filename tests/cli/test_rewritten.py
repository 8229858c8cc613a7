"""Commands of earlier versions: each is refused with the command that does the same now."""

import shlex

import pytest

from streameval.cli import app, run

REWRITTEN = [
    ("plan l.csv --study s --window 50 --epsilon=0.1", "plan l.csv --study s --method 'paula(window=50, epsilon=0.1)'"),
    ("plan l.csv --study s --head 9 --tail closed --assume a2",
     "plan l.csv --study s --method 'paula(head=9, tail=closed, assume=a2)'"),
    ("plan l.csv --method stratified --epsilon 0.1 --claim factor --study s",
     "plan l.csv --study s --method 'stratified(epsilon=0.1, claim=factor)'"),
    ("plan l.csv --study s --method=uniform --interval hypergeometric",
     "plan l.csv --study s --method 'uniform(interval=hypergeometric)'"),
    ("plan l.csv --study s --stages 4 --growing", "plan l.csv --study s --stages 4:later"),
    ("plan l.csv --study s --batches 4", "plan l.csv --study s --stages 4"),
    ("plan l.csv --study s --adaptive --score x --ascending", "plan l.csv --study s --score=-x --stages adaptive"),
    ("plan l.csv --study s --item id --draw-by id --seed 3", "plan l.csv --study s --seed 3 --on id --key id"),
    ("plan l.csv --study s --judge llm --judge-classes 0.05,0.5", "plan l.csv --study s --judge 'llm(0.05, 0.5)'"),
    ("plan l.csv --study s --judge-sample 2e4 --judge-classes 0.05,0.5",
     "plan l.csv --study s --judge '0.05, 0.5, sample=20000'"),
    ("plan l.csv --study s --judge 'llm(0.2)' --judge-accuracy .9",
     "plan l.csv --study s --judge 'llm(0.2, accuracy=0.9)'"),
    ("cost --items 10 --judge-sample 5 --judge-accuracy .9", "cost --items 10 --judge 'sample=5, accuracy=0.9'"),
    ("simulate l.csv --label y --judge llm --judge-accuracy .9",
     "simulate l.csv --label y --judge 'llm(accuracy=0.9)'"),
    ("plan b --against a --key id --study s --at 1000,1% -- c",
     "plan b --against a --key id --study s --for gain@1000,1% -- c"),
    ("plan b --against a --study s --at 10 --within .02", "plan b --against a --study s --for 'gain@10 within 2%' "
     "--for 'gain@10 > 0'"),
    ("plan b --against a --study s --within .02 --look one", "plan b --against a --study s --for 'gain within 2%'"),
    ("plan b --against a --study s --look any --min-precision 0.3",
     "plan b --against a --study s --for 'gain > 0 zone 0.01 expect 0.3'"),
    ("plan l.csv --study s --per q --rankings 50 --at 5,10",
     "plan l.csv --study s --per q --for precision@5,10 --budget 500"),
    ("plan l.csv --study s --per q --rankings 50", "plan l.csv --study s --per q --budget 500"),
    ("plan l.csv --study s --per q --cutoffs 5", "plan l.csv --study s --per q --for precision@5"),
    ("plan l.csv --study s --for 'map > .9' --for 'mrr > 0' --zone 0.02 --expect .7 --round 9 --together",
     "plan l.csv --study s --for 'map > 0.9 zone 0.02 expect .7 round 9 together' "
     "--for 'mrr > 0 zone 0.02 expect .7 round 9 together'"),
    ("cost --items 1e6 --window 50", "cost --items 1e6 --method 'loguniform, paula(window=50), stratified, uniform'"),
    ("cost --items 1e6 --against 80% --at 10", "cost --items 1e6 --against 80% --for gain@10"),
    ("cost --items 10 --adopted 5", "cost --items 10 --drawn 'uniform(size=5)'"),
    ("simulate l.csv --label y --methods paula,uniform --window 50",
     "simulate l.csv --label y --method 'paula(window=50), uniform'"),
    ("exact l.csv --label y --window 5,10 --epsilon 0.1",
     "exact l.csv --label y --method 'paula(window=5, epsilon=0.1), paula(window=10, epsilon=0.1)'"),
    ("exact l.csv --label y --cutoffs 1,5 --engine spark --spark-remote sc://h:1",
     "exact l.csv --label y --engine spark:sc://h:1 --at 1,5"),
    ("exact l.csv --label y --score x --sample-of id --at-score 0.5,-1",
     "exact l.csv --label y --score x --sample-of id --at score:0.5,score:-1"),
    ("exact l.csv --per c,q --gain exponential --score x --ties trec_eval --key id",
     "exact l.csv --score x --key id --per 'c,q(gain=exponential, ties=trec_eval)'"),
    ("exact l.csv --per q --no-positives skip --unjudged=zero",
     "exact l.csv --per 'q(no_positives=skip, unjudged=zero)'"),
    ("adopt l.csv --study s --labels x.csv --drawn poisson --probability p --least-probability 0.1",
     "adopt l.csv --study s --labels x.csv --drawn 'poisson(probability=p, least=0.1)'"),
    ("adopt l.csv --study s --labels x.csv --drawn strata --strata t.csv --looks 3",
     "adopt l.csv --study s --labels x.csv --drawn 'strata(sizes=t.csv)' --stages 3:later"),
    ("adopt l.csv --study s --labels x.csv --drawn uniform --sample-size 90",
     "adopt l.csv --study s --labels x.csv --drawn 'uniform(size=90)'"),
    ("adopt l.csv --study s --labels x.csv --drawn strata --sample-size t.csv",
     "adopt l.csv --study s --labels x.csv --drawn 'strata(sizes=t.csv)'"),
    ("adopt l.csv --study s --labels x.csv --drawn 'poisson(probability=p)' --sample-size 9",
     "adopt l.csv --study s --labels x.csv --drawn 'poisson(probability=p, size=9)'"),
    ("select s --yes 1 --no 0 --question why", "select s --negative 0 --ask why --positive 1"),
    ("label s --question why", "label s --ask why"),
    ("label s --host 0.0.0.0 --port 80", "label s --host 0.0.0.0:80"), ("label s --port 0", "label s --host :0"),
    ("label s --port 80 --host ::1", "label s --host '[::1]:80'"),
    ("evaluate s --misses-from m --item id", "evaluate s --key id --misses m"),
    ("check s 'map > 0' --summary a.json", "check s 'map > 0' --out a.json"),
    ("cut s 10 --misses-from m", "cut s 10 --misses m"),
    ("monitor f --incomplete", "monitor f --allow incomplete"),
    ("report s --items 3 --plots f", "report s --examples 3 --plot f"),
    ("grow s --labels 9 --dry-run", "grow s --dry-run --budget 9"), ("grow s --half-width .1", "grow s --alpha .1"),
    ("grow s --rest", "grow s"),
    ("scan l.csv --spark-remote sc://h", "scan l.csv --engine spark:sc://h"),
]  # fmt: skip
KEPT = [  # no command says it: another verb does, there is more than one, or the option took no such value
    "plan l.csv --study s --ascending", "plan l.csv --study s --window 5 --time-limit 9",
    "plan l.csv --study s --judge-accuracy high",
    "plan l.csv --study s --first 9", "plan l.csv --study s --window", "plan l.csv --study s --window --epsilon 1",
    "plan l.csv --study s --at 10",
    "plan l.csv --study s --method uniform --window 5", "plan b --against a --study s --look 7",
    "plan l.csv --study s --zone 0.02", "plan l.csv --study s --per q --rankings x", "sql s --csv a.csv",
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), REWRITTEN)
def test_a_command_of_an_earlier_version_is_printed_as_it_is_typed_now(capsys, old, new):
    assert run(shlex.split(old)) == 2
    assert capsys.readouterr().err.partition(" any more. Hint: ")[2] == f"streameval {new}\n"
    app.parse_args(shlex.split(new), exit_on_error=False, print_error=False)


@pytest.mark.parametrize("old", KEPT)
def test_what_no_command_says_has_a_hint(capsys, old):
    assert run(shlex.split(old)) == 2
    assert " any more. Hint: it is " in capsys.readouterr().err
