"""Commands with options that are spelt otherwise now, written whole as they are typed now."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import product
from typing import Any, get_args

from streameval.calls import write_call
from streameval.errors import InputError
from streameval.judges.options import JudgeValue
from streameval.methods import list_parameters
from streameval.methods.adopted.designs import DrawValue
from streameval.methods.values import MethodValue, method_values, parameters_of
from streameval.options import listed
from streameval.per_query.options import PARAMETERS
from streameval.questions import Question
from streameval.questions.comparing import Looks, questions_of
from streameval.text.numbers import whole_number
from streameval.text.options import flag, flags
from streameval.text.retired import RETIRED

_SWITCHES = ("--growing", "--adaptive", "--ascending", "--together", "--incomplete", "--rest")
_OPTION = re.compile(r"--([a-z-]+)[ =](\S+)")  # a hint that is one option and its value
# a hint that is a parameter of a method or a draw
_PARAMETER = re.compile(r"--(method|drawn) '(\w+)\((?:\w+=COL, )?(\w+)=VALUE\)'")
_ALL_METHODS = ("cost", "simulate")  # verbs that take every method where none is named


def whole_command(arguments: list[str]) -> str:
    """Write a command with retired options as it is typed now; nothing where no command does the same.

    >>> whole_command(["plan", "list.csv", "--window", "50", "--study=s", "--epsilon=0.1"])
    "streameval plan list.csv --study=s --method 'paula(window=50, epsilon=0.1)'"
    """
    verb, *words = arguments
    end = words.index("--") if "--" in words else len(words)
    typed = _Typed(verb, words[:end])
    try:
        new = {name: value for rewrite in (_wanted, _parameters, _renamed) for name, value in rewrite(typed).items()}
    except (InputError, ValueError, ArithmeticError, StopIteration):  # what the option never took
        return ""
    if any(word.partition("=")[0] in RETIRED[verb] for word in typed.words):
        return ""
    return shlex.join(["streameval", verb, *typed.words, *flags(new), *words[end:]])


class _Typed:
    """Words of a command, out of which options are taken."""

    def __init__(self, verb: str, words: list[str]) -> None:
        self.retired, self.verb, self.words = RETIRED[verb], verb, words

    def has(self, option: str) -> bool:
        return any(word.partition("=")[0] == option for word in self.words)

    def take(self, option: str) -> list[str]:
        """Take an option out, and give its values; of a switch its name."""
        values, kept, words = [], [], iter(self.words)
        for word in words:
            name, equals, value = word.partition("=")
            if name != option:
                kept.append(word)
            else:
                values.append(name if name in _SWITCHES else value if equals else next(words, ""))
        if any(value in ("", *self.retired) for value in values if value not in _SWITCHES):
            raise InputError(f"{option} has no value")
        self.words = kept
        return values

    def take_retired(self, option: str) -> str:
        """Take an option out where it is none of the verb any more, and give its values, with commas between them."""
        return ",".join(self.take(option)) if option in self.retired else ""


def _wanted(typed: _Typed) -> dict[str, Any]:
    """Write what is wanted of a ranking, of two or of many, as questions with their terms."""
    if "--zone" not in typed.retired:
        return {}
    within, look, rankings = map(typed.take_retired, ("--within", "--look", "--rankings"))
    cutoffs = typed.take_retired("--at") or typed.take_retired("--cutoffs")
    terms = [f" {name} {value}" for name in ("zone", "expect", "round") if (value := typed.take_retired(f"--{name}"))]
    terms += [" together"] if typed.take_retired("--together") else []
    questions = [f"{Question.of(text)}{''.join(terms)}" for text in typed.take("--for")]
    if typed.has("--against") and (cutoffs or within or look):
        questions += _compared(cutoffs, within, look, *typed.take("--min-precision"))
    elif typed.has("--per") and cutoffs:
        questions.append(f"precision@{cutoffs}")
    elif cutoffs or within or look or (terms and not questions):
        raise InputError("nothing is asked")
    ranks = [cutoff.value for question in questions for cutoff in Question.of(question).cutoffs] or [10]
    budget = {"budget": int(rankings) * int(max(ranks))} if rankings else {}
    return {"questions": questions} | budget


def _compared(cutoffs: str, within: str, look: str, expect: str = "0.5") -> list[str]:
    if cutoffs and not (within or look) and expect == "0.5":
        return [f"gain@{cutoffs}"]
    chosen = next(each for each in get_args(Looks) if each == (look or "both"))
    return [*map(str, questions_of(listed(cutoffs) if cutoffs else (), within or "0.01", chosen, float(expect)))]


def _parameters(typed: _Typed) -> dict[str, Any]:
    """Write parameters into the values of the methods, or of the draw, that they are of."""
    hints = [(option, call) for option, hint in typed.retired.items() if (call := _PARAMETER.fullmatch(hint))]
    calls = [(call, values) for option, call in hints if (values := typed.take_retired(option))]
    draw: dict[str, Any] = {call[3]: value for call, value in calls if call[1] == "drawn"}
    new: dict[str, Any] = {}
    if draw:
        value = DrawValue.parse((typed.take("--drawn") or [calls[0][0][2]])[-1])
        if value.design == "strata" and "size" in draw:
            draw["sizes"] = draw.pop("size")
        new["drawn"] = str(replace(value, **draw))
    if of_methods := {call[3]: listed(values) for call, values in calls if call[1] == "method"}:
        implied = [*list_parameters()] if typed.verb in _ALL_METHODS else [next(call[2] for call, _ in calls)]
        chosen = typed.take("--method") or listed(typed.take_retired("--methods") or implied)
        combined = [dict(zip(of_methods, values, strict=True)) for values in product(*of_methods.values())]
        written = [_with(method, values) for method in method_values(chosen) for values in combined]
        if missing := [name for name in of_methods if not any(f"{name}=" in value for value in written)]:
            raise InputError(f"no method has {missing[0]}")
        new["method"] = ", ".join(dict.fromkeys(written))
    return new


def _with(method: MethodValue, values: dict[str, str]) -> str:
    names = [parameter.name for parameter in parameters_of(method.name)]
    accepted = {name: value for name, value in values.items() if name in names}
    return str(MethodValue(method.name, {**method.parameters, **accepted}))


def _renamed(typed: _Typed) -> dict[str, Any]:
    """Write options that have another name or value, alone or with the option that they belong to."""
    new: dict[str, Any] = {}
    classes, sample, accuracy = map(typed.take_retired, ("--judge-classes", "--judge-sample", "--judge-accuracy"))
    if classes or sample or accuracy:
        judge = JudgeValue.parse((typed.take("--judge") or [""])[-1])
        thresholds = tuple(map(float, listed(classes))) or judge.thresholds
        new["judge"] = str(JudgeValue(judge.column, thresholds, whole_number(sample) if sample else judge.sample,
                                      float(accuracy) if accuracy else judge.accuracy))  # fmt: skip
    of_many = {name: value for name in PARAMETERS if (value := typed.take_retired(flag(name)))}
    if of_many:
        *columns, last = listed(",".join(typed.take("--per")))
        new["per"] = ",".join([*columns, write_call(last, of_many)])
    if typed.has("--stages") and typed.take_retired("--growing"):
        new["stages"] = f"{typed.take('--stages')[-1]}:later"
    if typed.has("--score") and typed.take_retired("--ascending"):
        new["score"] = f"-{typed.take('--score')[-1]}"
    if typed.has("--host") and (port := typed.take_retired("--port")):
        host = typed.take("--host")[-1]
        new["host"] = f"{f'[{host}]' if ':' in host else host}:{port}"
    if typed.verb == "grow":
        typed.take_retired("--rest")
    if typed.verb == "exact" and (scores := typed.take_retired("--at-score")):
        new["at"] = ",".join(f"score:{score}" for score in listed(scores))
    for option, hint in typed.retired.items():
        if (renamed := _OPTION.fullmatch(hint)) and (value := typed.take_retired(option)):
            typed.take(flag(renamed[1]))
            new[renamed[1]] = renamed[2].replace("VALUE", value)
    return new
