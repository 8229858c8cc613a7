"""The page of whoever asked people to label: who has done what, how far they agree, and the answer as it stands."""

from __future__ import annotations

from importlib import resources

from streameval.labelling.exports.page import policy_of


def owner_page() -> tuple[str, str]:
    """The page, and the policy to send with it."""
    style, script, page = (_resource(f"owner.{kind}") for kind in ("css", "js", "html"))
    policy = policy_of(style, script) + "; connect-src 'self'; frame-src 'self'"
    return page.replace("%STYLE%", style).replace("%SCRIPT%", script), policy


def _resource(name: str) -> str:
    return (resources.files("streameval.serving") / name).read_text(encoding="utf-8")
