"""Links: each person's holds a secret of their own, which the browser never puts into an address that it asks for."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from streameval.errors import InputError
from streameval.process.system import is_trusted

_KEY = ".label-key"
_LONGEST = 80


@dataclass(frozen=True)
class Links:
    """Secrets of the people who label, of whoever asked them, and of the report.

    Attributes:
        people: Their names.
        key: What the secrets are made of; kept in the study, readable by its owner only, so that links stay the same.
        report: In the address of the report, another one each time the study is served: proxies log addresses.
    """

    people: tuple[str, ...]
    key: bytes
    report: str = field(default_factory=partial(secrets.token_hex, 20))

    def token(self, person: str) -> str:
        """Secret of a person."""
        return self._secret("person", person)

    @property
    def owner(self) -> str:
        """Secret of whoever asked."""
        return self._secret("owner", "")

    def person(self, token: str) -> str | None:
        """Whose secret that is; None of nobody who is named now."""
        people = [
            candidate
            for candidate in self.people
            if hmac.compare_digest(self.token(candidate).encode(), token.encode())
        ]
        return people[0] if people else None

    def is_owner(self, token: str) -> bool:
        """Tell whether that is the secret of whoever asked."""
        return hmac.compare_digest(self.owner.encode(), token.encode())

    def is_report(self, token: str) -> bool:
        """Tell whether that is the secret of the report."""
        return hmac.compare_digest(self.report.encode(), token.encode())

    def _secret(self, role: str, name: str) -> str:
        return hmac.new(self.key, f"{role}:{name}".encode(), hashlib.sha256).hexdigest()[:40]


def links_of(study: Path, people: Sequence[str]) -> Links:
    """Make the links of a study, the same as before for the same names.

    Raises:
        InputError: No name, one that is named twice, or one that is too long or not printable, or begins as a formula
            of a spreadsheet does.
    """
    for name in people:
        if not name or len(name) > _LONGEST or not name.isprintable() or name[0] in "=+-@":
            raise InputError(
                f"'{name[:_LONGEST]}' is no name of a person",
                f"at most {_LONGEST} printable letters, not after = or +",
            )
    if not people or len({*people}) < len(people):
        raise InputError("people are to be named, each once", "--people ann,ben")
    path = study / _KEY
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(32))
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        pass
    with open(path, "rb") as file:
        if not is_trusted(file.fileno()):
            raise InputError(f"{path}: others can write it, or somebody else did", "remove it: all links are new then")
        key = file.read()
    if len(key) != 32:
        raise InputError(f"{path}: is not what was written there", "remove it: all links are new then")
    return Links(tuple(people), key)
