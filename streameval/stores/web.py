"""Files of web servers (`https://`) and of Hugging Face (`hf://datasets/OWNER/NAME[@REVISION]/PATH`), read by ranges.

A web server cannot list its files, so each is named; Hugging Face can. Nothing is written there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from streameval import __version__
from streameval.errors import InputError

_SECONDS = 60.0  # before an answer counts as lost
_REPOSITORY = re.compile(r"(datasets/[^/@]+/[^/@]+)(?:@([^/]+))?(?:/(.*))?")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')


class WebFiles:
    """Files of a server, as pyarrow's filesystems offer those of a store.

    Args:
        scheme: Of the addresses: "https" or "http".
    """

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme

    def url(self, key: str) -> str:
        """Address of a file."""
        return f"{self._scheme}://{quote(key, safe='/:%')}"

    def open_input_file(self, key: str) -> WebFile:
        """Ask for a file's size and version."""
        return WebFile(self, self.url(key))

    def open_input_stream(self, key: str) -> HTTPResponse:
        """Read a file from its beginning."""
        return self.ask(Request(self.url(key)))

    def open_output_stream(self, key: str, **how: Any) -> Any:
        """Refuse: an `InputError`."""
        raise InputError(f"{self.url(key)}: nothing can be written there", "name a local path or a bucket")

    def get_file_info(self, what: Any) -> Any:
        """Tell whether a file is there; a server itself counts as a folder."""
        from pyarrow.fs import FileInfo, FileSelector, FileType

        if isinstance(what, FileSelector):
            return self.files_below(what.base_dir)
        if "/" not in what.strip("/"):
            return FileInfo(what, FileType.Directory)
        try:
            return FileInfo(what, FileType.File, size=self.open_input_file(what).size())
        except FileNotFoundError:
            return FileInfo(what, FileType.NotFound)

    def files_below(self, key: str) -> list[Any]:
        """Files below a folder: an `InputError`, since no web server tells."""
        raise InputError(f"{self.url(key)}: a web server does not list its files", "name each of them")

    def ask(self, request: Request) -> HTTPResponse:
        """Make a request; `FileNotFoundError` for what is not there, `OSError` for other answers than a good one."""
        request.add_header("User-Agent", f"streameval/{__version__}")
        for name, value in self.secrets(request.full_url).items():
            request.add_unredirected_header(name, value)  # for this server, and none that it names
        try:
            return cast(HTTPResponse, urlopen(request, timeout=_SECONDS))
        except HTTPError as error:
            error.close()
            if error.code in (404, 410):
                raise FileNotFoundError(request.full_url) from None
            if 300 <= error.code < 400:
                where = (error.headers.get("Location") or "").partition(":")[0][:20]
                raise InputError(
                    f"{request.full_url}: its server names another place ({where}:), to which nothing is followed",
                    "give the address of the file itself",
                ) from None
            raise OSError(f"HTTP status {error.code}") from None
        except HTTPException as error:
            raise ConnectionError(type(error).__name__) from None

    def secrets(self, address: str) -> Mapping[str, str]:
        """Headers that let a user in at an address."""
        return {}


class HuggingFace(WebFiles):
    """Files of data sets; `HF_TOKEN` lets a user in, `HF_ENDPOINT` names another server."""

    def __init__(self) -> None:
        super().__init__("hf")
        self._server = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")

    def url(self, key: str) -> str:
        """Address of a file of a revision."""
        repository, revision, path = _split(key)
        return f"{self._server}/{repository}/resolve/{quote(revision, safe='')}/{quote(path)}"

    def get_file_info(self, what: Any) -> Any:
        """Tell whether a file or folder is there."""
        from pyarrow.fs import FileInfo, FileType

        if isinstance(what, str) and (what == "datasets" or not _split(what)[2]):
            return FileInfo(what, FileType.Directory)
        info = super().get_file_info(what)
        missing = not isinstance(info, list) and info.type == FileType.NotFound
        return FileInfo(what, FileType.Directory) if missing and self.files_below(what) else info

    def files_below(self, key: str) -> list[Any]:
        """Files below a folder, however many pages list them."""
        from pyarrow.fs import FileInfo, FileType

        repository, revision, path = _split(key)
        root = key.removesuffix("/").removesuffix(path.rstrip("/")).rstrip("/")
        entries = self._pages(
            f"{self._server}/api/{repository}/tree/{quote(revision, safe='')}/{quote(path)}?recursive=true"
        )
        return [FileInfo(f"{root}/{entry['path']}", FileType.File) for entry in entries if entry["type"] == "file"]

    def _pages(self, address: str | None) -> Iterator[dict[str, Any]]:
        while address is not None:
            try:
                with self.ask(Request(address)) as answer:
                    yield from json.load(answer)
            except FileNotFoundError:
                return
            following = _NEXT.search(answer.headers.get("Link") or "")
            address = following[1] if following else None

    def secrets(self, address: str) -> Mapping[str, str]:
        """The token of the user, for the server that it is for: a list of files may name another for its next page."""
        token = os.environ.get("HF_TOKEN")
        is_own_server = urlsplit(address)[:2] == urlsplit(self._server)[:2]
        return {"Authorization": f"Bearer {token}"} if token and is_own_server else {}


def _split(key: str) -> tuple[str, str, str]:
    """Split OWNER/NAME@REVISION/PATH; an `InputError` for any other address."""
    match = _REPOSITORY.fullmatch(key.rstrip("/"))
    if match is None:
        raise InputError(f"hf://{key}: names no data set", "an address is hf://datasets/OWNER/NAME/PATH")
    return match[1], match[2] or "main", match[3] or ""


class WebFile:
    """A file of a server, as the store takes it: its size, what tells its version, and ranges of it."""

    def __init__(self, files: WebFiles, url: str) -> None:
        self._files, self._url = files, url
        with files.ask(Request(url, method="HEAD")) as answer:
            self._headers = dict(answer.headers)
        headers = {name.lower(): value for name, value in self._headers.items()}
        if "content-length" not in headers:
            raise InputError(f"{url}: its server does not say how long it is", "download it, and give the file")
        self._size = int(headers["content-length"])

    def size(self) -> int:
        """Bytes of the file."""
        return self._size

    def metadata(self) -> Mapping[str, str]:
        """Headers."""
        return self._headers

    def read_at(self, size: int, at: int) -> bytes:
        """Read a range; an `InputError` where the server would send the whole file."""
        if not size:
            return b""
        request = Request(self._url, headers={"Range": f"bytes={at}-{at + size - 1}"})
        with self._files.ask(request) as answer:
            if answer.status != 206:
                raise InputError(f"{self._url}: its server sends no parts of a file", "download it, and give the file")
            try:
                return answer.read()
            except HTTPException as error:
                raise ConnectionError(type(error).__name__) from None
