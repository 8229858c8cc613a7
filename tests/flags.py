"""Flags of commands made of signatures once, not anew for each of the thousands of commands that tests run."""

import copy
from contextlib import contextmanager
from unittest.mock import patch

from cyclopts import App, ArgumentCollection


@contextmanager
def made_once():
    """Give every command a copy of the flags that were made for the first: five sixths of parsing is to make them."""
    made, make = {}, App.assemble_argument_collection

    def assemble(app, **named):
        key = (id(app), app.default_command, *sorted(named.items()))
        if key not in made:
            made[key] = app, make(app, **named)
        return unparsed(made[key][1])

    with patch.object(App, "assemble_argument_collection", assemble):
        yield


def unparsed(arguments):
    """A copy of arguments that nothing was parsed into yet, with the parts that they share."""
    copies = {id(one): copy.copy(one) for one in arguments}
    for one in copies.values():
        one.tokens = []
        one.children = ArgumentCollection([copies[id(child)] for child in one.children])
    return ArgumentCollection([copies[id(one)] for one in arguments])
