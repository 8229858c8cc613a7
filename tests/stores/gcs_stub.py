"""The few answers of Google's JSON API that reading takes, from a folder: `python gcs_stub.py FOLDER`; prints its port.

A process of its own: pyarrow's client asks while it holds the interpreter's lock, which a server in the same process
would need to answer.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlparse

ROOT = Path(sys.argv[-1])


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        url = urlparse(self.path)
        query, parts = parse_qs(url.query), [unquote(part) for part in url.path.split("/")]
        bucket = parts[4]
        if len(parts) == 5:
            return self.say(json.dumps({"kind": "storage#bucket", "name": bucket, "id": bucket}).encode())
        if len(parts) == 6:
            prefix = query.get("prefix", [""])[0]
            files = [path for path in (ROOT / bucket).rglob("*") if path.is_file()]
            names = [path.relative_to(ROOT / bucket).as_posix() for path in files]
            found = [describe(bucket, name) for name in sorted(names) if name.startswith(prefix)]
            return self.say(json.dumps({"kind": "storage#objects", "items": found}).encode())
        path = ROOT / bucket / "/".join(parts[6:])
        if not path.is_file():
            return self.say(b'{"error": {"code": 404, "message": "none"}}', 404)
        if query.get("alt") != ["media"]:
            return self.say(json.dumps(describe(bucket, "/".join(parts[6:]))).encode())
        body, wanted = path.read_bytes(), self.headers.get("Range")
        first, last = wanted.removeprefix("bytes=").split("-") if wanted else ("0", "")
        some = body[int(first) : int(last or len(body)) + 1]
        span = f"bytes {first}-{int(first) + len(some) - 1}/{len(body)}"
        return self.say(some, 206 if wanted else 200, {"Content-Range": span, "x-goog-generation": "7"})

    def say(self, body, status=200, headers=None):
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


def describe(bucket, name):
    size = (ROOT / bucket / name).stat().st_size
    facts = {"name": name, "bucket": bucket, "size": str(size), "generation": "7", "metageneration": "1", "etag": "x"}
    return {"kind": "storage#object", "id": name, **facts, "updated": "2026-01-01T00:00:00Z"}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
