"""Names that the server goes by, and addresses that links begin with."""

import errno
import socket
from urllib.parse import urlsplit

import pytest
from label_pages import said
from starlette.testclient import TestClient

import streameval
from streameval.errors import InputError, OutsideError
from streameval.serving import serve
from streameval.serving.page_server import application
from streameval.verbs.label import _base, _names


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost.evil.example", "", "[", "127.0.0.1.evil"]
)
def test_a_site_whose_name_leads_here_is_told_nothing(study, opened, host):
    """Its page would be of one origin with this server, and could read whatever it says."""
    pages = opened(study)
    headers = {"Host": host, "Authorization": f"Bearer {pages.links.token('ann')}"}
    for reply in (
        pages.client.get("/", headers=headers),
        pages.client.post("/api/work", json={"answers": [said(pages.session._shown.names and 1)]}, headers=headers),
        pages.client.post("/api/start", headers=headers),
    ):
        assert reply.status_code == 421
        assert [*reply.json()] == ["error"]
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert pages.session.answers == 0


@pytest.mark.parametrize(
    "host", ["localhost:8765", "LOCALHOST", "127.0.0.1:8765", "[::1]:8765", "192.168.1.5", "labels.example.org"]
)
def test_it_goes_by_numbers_and_by_the_names_that_it_was_given(study, opened, host):
    client = TestClient(application(opened(study).session, _names("127.0.0.1", "https://Labels.example.org/x/")))
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(("host", "url", "base"), [
    ("127.0.0.1", None, "http://127.0.0.1:8765/"), ("::1", None, "http://[::1]:8765/"),
    ("0.0.0.0", None, f"http://{socket.gethostname()}:8765/"),
    ("127.0.0.1", "https://labels.example.org", "https://labels.example.org/"),
    ("127.0.0.1", "https://example.org/labels/", "https://example.org/labels/"),
])  # fmt: skip
def test_links_begin_with_an_address_that_people_reach(host, url, base):
    assert _base(host, 8765, url) == base
    assert urlsplit(base).hostname.lower() in {name.lower() for name in _names(host, base)}


@pytest.mark.parametrize(
    "given",
    [
        {"host": ""},
        {"host": "127.0.0.1:x"},
        {"host": ":-1"},
        {"host": "http://here"},
        {"host": "[::1]x"},
        {"host": ":0", "url": "labels.example.org"},
        {"host": ":0", "url": "https://x/?a"},
        {"host": ":0", "url": "http://["},
    ],
)
def test_an_address_that_cannot_be_is_refused(study, given, monkeypatch):
    monkeypatch.setattr(serve, "serve", lambda *given: pytest.fail("it was served"))
    with pytest.raises(InputError, match=r"host is empty|no address "):
        streameval.label(study, people="ann", **given)


def test_a_host_that_is_not_of_this_machine_is_told_by_its_name():
    for host in ("192.0.2.1", "host.invalid"):
        with pytest.raises(InputError, match="host names one of this machine"):
            serve.bound(host, 0)


def test_too_many_open_files_are_no_matter_of_the_host(monkeypatch):
    def refused(*given, **how):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(serve.socket, "create_server", refused)
    with pytest.raises(OutsideError, match=r"^Too many open files"):
        serve.bound("127.0.0.1", 0)


def test_people_who_have_no_name_are_refused_as_those_named_twice(study, monkeypatch):
    monkeypatch.setattr(serve, "serve", lambda *given: pytest.fail("it was served"))
    for people, why in (
        (",,", "nothing stands on one side of a comma"),
        ("ann,ann", "people are to be named, each once"),
    ):
        with pytest.raises(InputError, match=why):
            streameval.label(study, people=people, host=":0")
