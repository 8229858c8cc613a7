"""An object store in this process: what pyarrow's client makes of S3, request by request, and trouble on request.

That it answers as that client does of a real server, `tests/stores/test_real_server.py` shows.
"""

import hashlib
import io
import threading
from contextlib import nullcontext

from lake import Asked, Place, by_rules
from pyarrow.fs import FileInfo, FileSelector, FileType

from streameval.stores import clients

PART = 10 << 20  # bytes that a stream sends as a part of an upload
SILENT = "NETWORK_CONNECTION", "curlCode: 52, Server returned nothing (no headers, no data); Details: Empty reply"
CUT = "NETWORK_CONNECTION", "curlCode: 18, Transferred a partial file; Details: end of response with bytes missing"
ANSWERS = {
    **{status: (f"UNKNOWN (HTTP status {status})", "No response body.") for status in ("301", "400", "500", "503")},
    "401": ("ACCESS_DENIED", "No response body."), "403": ("ACCESS_DENIED", "No response body."),
    "404": ("RESOURCE_NOT_FOUND", "No response body."), "drop": SILENT,
}  # fmt: skip


class FaultError(OSError):
    """What pyarrow raises for an answer of the store."""

    def __init__(self, answer, operation, key):
        name, detail = answer
        super().__init__(f"When asking for key '{key}': AWS Error {name} during {operation} operation: {detail}")
        self.missing = name == "RESOURCE_NOT_FOUND"


def not_there(key):
    return FileNotFoundError(2, f"Path does not exist '{key}'. Detail: [errno 2] No such file or directory")


class Bucket(Place):
    """The bucket `lake`, and no other: its objects by name, what was asked of it, and what it does about that."""

    def __init__(self):
        self.contents, self.uploads, self.lock = {}, {}, threading.RLock()
        self.requests, self.trouble, self.count, self.gate = [], None, 0, nullcontext()

    def reach(self, monkeypatch):
        """Be what the package reaches by s3://."""
        monkeypatch.setitem(clients._CLIENTS, "s3", lambda root: Client(self))
        monkeypatch.setattr(clients, "_s3", lambda root, **how: Client(self, how.get("allow_delayed_open", False)))

    def misbehave(self, *rules, act=None):
        """Forget requests, and misbehave by rules: see `by_rules`."""
        self.reset(by_rules(rules, act))

    @property
    def open_uploads(self):
        """Keys of uploads in parts that hold bytes and were neither completed nor aborted."""
        return [key for key, parts in self.uploads.items() if parts]

    def put(self, key, body):
        """Put an object there, as another program would."""
        self.contents[key] = body

    def make_folder(self, key):
        """Put the empty object there that stands for a folder."""
        self.put(f"{key}/", b"")

    def remove(self, key):
        """Remove an object, as another program would."""
        del self.contents[key]

    def objects(self, place="s3://lake/best"):
        """Content of every object below a place, folder markers left out."""
        root = place.removeprefix("s3://") + "/"
        return {key.removeprefix(root): body for key, body in self.contents.items()
                if key.startswith(root) and not key.endswith("/")}  # fmt: skip

    def has_folder(self, key):
        """Whether anything is below a folder, be it its marker."""
        return any(one.startswith(f"{key}/") for one in self.contents)

    def ask(self, method, path, operation, key, span=None):
        """Take a request; whether its answer is cut short, though it was done."""
        with self.lock:
            self.count += 1
            asked = Asked(method, path, span)
            self.requests.append((method, path, 0))
            place = len(self.requests) - 1
            fault = self.trouble(self.count, asked) if self.trouble else None
        if fault in ANSWERS:
            raise FaultError(ANSWERS[fault], operation, key)
        with self.gate:
            pass
        return place, fault == "cut"


class Client:
    """What pyarrow.fs.S3FileSystem is of a bucket."""

    def __init__(self, bucket, delayed=False):
        self._bucket, self._delayed = bucket, delayed

    def _do(self, method, path, operation, key, done, span=None, told=True):
        """Make a request: what `done` gives; where the answer has a body and is cut, an error after it was done."""
        place, cut = self._bucket.ask(method, path, operation, key, span)
        if not key.startswith("lake/") and key != "lake" and method != "HEAD":
            raise FaultError(("NO_SUCH_BUCKET", "The specified bucket does not exist"), operation, key)
        with self._bucket.lock:
            found = done()
            if isinstance(found, bytes):
                self._bucket.requests[place] = (method, path, len(found))
        if cut and told:
            raise FaultError(CUT, operation, key)
        return found

    def _head(self, key):
        try:
            return self._do("HEAD", f"/{key}", "HeadObject", key, lambda: self._bucket.contents.get(key), told=False)
        except FaultError as error:
            if error.missing:
                return None
            raise

    def _list(self, folder, query="list-type=2&max-keys=1000"):
        root, _, key = folder.partition("/")
        prefix = f"&prefix={key}/".replace("/", "%2F") if key else ""

        def below():
            return [one for one in self._bucket.contents if one.startswith(f"{folder}/")]

        return self._do("GET", f"/{root}?{query}{prefix}", "ListObjectsV2", folder, below)

    def get_file_info(self, what):
        if isinstance(what, FileSelector):
            return self._walk(what.base_dir)
        if what == "lake":
            self._head(what)
            return FileInfo(what, FileType.Directory)
        body = self._head(what)
        if body is not None:
            return FileInfo(what, FileType.File, size=len(body))
        if "/" not in what:
            return FileInfo(what, FileType.NotFound)
        try:
            found = self._list(what, "delimiter=%2F&list-type=2&max-keys=1")
        except FaultError as error:
            if "NO_SUCH_BUCKET" not in str(error) and not error.missing:
                raise
            found = []
        return FileInfo(what, FileType.Directory if found else FileType.NotFound)

    def _walk(self, folder):
        try:
            found = self._list(folder)
        except FaultError as error:
            if "NO_SUCH_BUCKET" not in str(error) and not error.missing:
                raise
            return []
        folders = {key[:at] for key in found for at in range(len(folder) + 1, len(key)) if key[at] == "/"}
        files = [FileInfo(key, FileType.File, size=len(self._bucket.contents.get(key, b""))) for key in found
                 if not key.endswith("/")]  # fmt: skip
        return files + [FileInfo(one, FileType.Directory) for one in folders]

    def open_input_file(self, key):
        body = self._head(key)
        if body is None:
            raise not_there(key)
        return Handle(self, key, body)

    def get(self, key, at, end, span):
        def part():
            if key not in self._bucket.contents:
                raise FaultError(("NO_SUCH_KEY", "The specified key does not exist."), "GetObject", key)
            return self._bucket.contents[key][at:end]

        return self._do("GET", f"/{key}", "GetObject", key, part, span)

    def open_input_stream(self, key):
        body = self.open_input_file(key).body
        return io.BytesIO(self.get(key, 0, len(body), None))

    def open_output_stream(self, key, buffer_size=None):
        return Upload(self, key, self._delayed)

    def write(self, key, body):
        self._do("PUT", f"/{key}", "PutObject", key, lambda: self._bucket.put(key, body), told=False)

    def copy_file(self, source, target):
        def copy():
            if source not in self._bucket.contents:
                raise FaultError(("NO_SUCH_KEY", "The specified key does not exist."), "CopyObject", source)
            self._bucket.put(target, self._bucket.contents[source])

        self._do("PUT", f"/{target}", "CopyObject", target, copy)

    def delete_file(self, key):
        if self._head(key) is None:
            raise not_there(key)
        self._delete(key)
        self._mark(key.rpartition("/")[0])

    def delete_dir(self, folder):
        self._head(folder)
        found = self._list(folder)
        if not found:
            raise not_there(f"{folder}/")
        inside = [key for key in found if key != f"{folder}/"]
        if inside:
            self._do("POST", "/lake?delete", "DeleteObjects", folder, lambda: [self._drop(key) for key in inside])
        self._delete(f"{folder}/")
        self._mark(folder.rpartition("/")[0])

    def _delete(self, key):
        self._do("DELETE", f"/{key}", "DeleteObject", key, lambda: self._drop(key), told=False)

    def _drop(self, key):
        self._bucket.contents.pop(key, None)

    def _mark(self, folder):
        """Keep a folder that may have become empty."""
        if "/" in folder:
            self.write(f"{folder}/", b"")

    def begin(self, key):
        self._do("POST", f"/{key}?uploads", "CreateMultipartUpload", key, lambda: None)
        return self._bucket.uploads.setdefault(key, [])

    def send_part(self, key, parts, body):
        path = f"/{key}?partNumber={len(parts) + 1}&uploadId=1"
        self._do("PUT", path, "UploadPart", key, lambda: parts.append(body), told=False)

    def complete(self, key, parts):
        self._do("POST", f"/{key}?uploadId=1", "CompleteMultipartUpload", key, lambda: self.end(key, parts))

    def end(self, key, parts):
        """Make an object of the parts that came."""
        self._bucket.uploads.pop(key, None)
        if parts:
            self._bucket.put(key, b"".join(parts))


class Handle:
    """An object as it was found; what is read is what is there then."""

    def __init__(self, client, key, body):
        self._client, self._key, self.body = client, key, body

    def size(self):
        return len(self.body)

    def metadata(self):
        return {"Content-Length": str(len(self.body)).encode(), "ETag": hashlib.md5(self.body).hexdigest().encode()}

    def read_at(self, size, at):
        end = min(at + size, len(self.body))
        return self._client.get(self._key, at, end, f"bytes={at}-{end - 1}")


class Upload:
    """A stream to an object, which is there when the stream is closed; one that fails leaves the parts that came."""

    def __init__(self, client, key, delayed):
        self._client, self._key, self._waiting, self._closed = client, key, [], False
        self._parts = None if delayed else client.begin(key)

    def write(self, piece):
        self._waiting.append(bytes(piece))
        if sum(map(len, self._waiting)) >= PART:
            if self._parts is None:
                self._parts = self._client.begin(self._key)
            self._send()

    def _send(self):
        body, self._waiting = b"".join(self._waiting), []
        try:
            self._client.send_part(self._key, self._parts, body)
        except FaultError:
            self._closed = True
            self._client.end(self._key, self._parts)  # what Python does when it forgets the stream
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._closed:
            return
        self._closed = True
        if self._parts is None:
            self._client.write(self._key, b"".join(self._waiting))
            return
        if self._waiting or not self._parts:
            self._send()
        self._client.complete(self._key, self._parts)
