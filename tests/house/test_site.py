"""Links of the guides, and the site that is made of them (slow: `scripts/site-in-browser`)."""

import importlib.util
import json
import re
import subprocess
import sys
import threading
import tomllib
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from browser import CHROMIUM, found
from places import HOME

from streameval.cli import run
from streameval.cli.commands.guide import PAGES as TOPICS

sys.path.append(str(HOME / "scripts"))  # what a script imports lies beside it
spec = importlib.util.spec_from_file_location("site_builder", HOME / "scripts" / "site.py")
builder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(builder)

PAGES = [HOME / "README.md", *(HOME / "streameval" / "guide").glob("*.md"), *(HOME / path for path in builder.PROJECT)]
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def anchors(page):
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.*)", text)
    return {re.sub(r"[^\w\s-]", "", one).strip().lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_site_has_every_guide_under_its_title_in_the_order_of_the_guide(capsys):
    texts = builder.pages()
    settings = tomllib.loads(builder.settings(texts))["project"]
    (guide,) = [part["Guide"] for part in settings["nav"] if "Guide" in part]
    titles = {Path(path).stem: title for one in guide for title, path in one.items()}
    assert run(["guide", "--json"]) == 0
    assert titles == json.loads(capsys.readouterr().out)
    assert list(titles) == [name for names in TOPICS.values() for name in names]
    assert settings["theme"]["font"] is False


def test_docstrings_become_paragraphs_and_lists_and_nothing_is_left_out():
    text = """## f

```text
f(number: int, *, names: Sequence[str] = ('a_b', 'c'), of: dict[str, int] | None = None, more: Any) -> Found

Find a_b in <where>, *not* `x < 1`.

Args:
    number, **names (tuple[str, ...]): In `the` list; and
        beyond it.
    of: Nothing.

Returns:
    Found: All
        of it.

>>> f(1)
Found()
```
"""
    assert (
        builder.as_markdown(text)
        == r"""## f

```python
f(
    number: int,
    *,
    names: Sequence[str] = ('a_b', 'c'),
    of: dict[str, int] | None = None,
    more: Any,
) -> Found
```

Find a\_b in \<where\>, \*not\* `x < 1`.

**Args**

- `number`, `**names` (tuple[str, ...]): In `the` list; and beyond it.
- `of`: Nothing.

**Returns**

- `Found`: All of it.

```pycon
>>> f(1)
Found()
```
"""
    )
    whole = (HOME / "streameval" / "guide" / "functions.md").read_text(encoding="utf-8")
    page = builder.as_markdown(whole)
    assert "```text" not in page
    marks = {"text", "python", "pycon"}
    assert [word for word in re.findall(r"\w+", whole) if word not in marks] == [
        word for word in re.findall(r"\w+", page.replace("\\_", "_")) if word not in marks
    ]


def test_code_that_is_long_is_marked_and_nothing_else():
    short, long = "`--key id`", "`streameval plan list/\n--study mine --key id`"
    text = f"{short}, {long} or ``a ` b``, {short}\n\n```sh\n{long} in a block\n```\n{short}"
    assert builder.with_long_code_marked(text) == text.replace(f"{long} or", f"{long}{{.long}} or")


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SystemExit, match="is no site of ours"):
        builder.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


class Page(HTMLParser):
    """What a built page names: targets of its links, addresses it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.ids = set(), set(), {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        (self.links if tag == "a" else self.loads).update({given.get("href"), given.get("src")} - {None})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "site"
    subprocess.run([HOME / "scripts" / "site", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def built(site):
    """Every page but the report, which has a test of its own, and the one for addresses that are not there."""
    paths = [path for path in site.rglob("*.html") if path.parent.name != "demo" and path.name != "404.html"]
    return {path.resolve(): Page(path) for path in paths}


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(built, site):
    assert len(built) == len(builder.pages())
    for path, page in built.items():
        for link in page.links | page.loads:
            if re.match(r"https?:|data:", link):
                continue
            target, _, anchor = link.partition("#")
            file = (path.parent / unquote(target)).resolve() if target else path
            assert file.exists(), (path, link)
            assert file not in built or unquote(anchor) in built[file].ids, (path, link)


@pytest.mark.slow
def test_no_mark_is_left_in_a_page(site):
    assert not [path for path in site.rglob("*.html") if "{.long}" in path.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_the_site_loads_nothing_from_another_host(built, site):
    for path, page in built.items():
        assert not [one for one in page.loads if re.match(r"(https?:)?//", one)], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8")), path


LOOK = """<!doctype html><body><script>
(async () => {
  const seen = [];
  for (const width of [390, 1280]) for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style = `width: ${width}px; height: 900px; border: 0`;
    frame.src = page;
    await new Promise(loaded => { frame.onload = loaded; document.body.append(frame); });
    const inner = frame.contentWindow, root = inner.document.documentElement;
    seen.push({
      page, width, overflow: root.scrollWidth - root.clientWidth,
      hollow: [...inner.document.images].filter(image => !image.naturalWidth).map(image => image.src),
      loaded: inner.performance.getEntriesByType("resource").map(entry => entry.name),
    });
    frame.remove();
  }
  document.body.innerHTML = '<pre id="found"></pre>';
  document.body.firstChild.textContent = JSON.stringify(seen);
})();
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no chromium here")
def test_pages_fit_on_a_phone_and_on_a_desk_without_network(built, site, tmp_path):
    names = [str(path.relative_to(site.resolve())) for path in built]
    (site / "look.html").write_text(LOOK.replace("PAGES", json.dumps([*names, "demo/report.html"])))
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}/"
        seen = found(f"{home}look.html", tmp_path / "profile", NO_NETWORK, size="1400,1000")
        server.shutdown()
    (site / "look.html").unlink()
    assert len(seen) == 2 * len(names) + 2
    for one in seen:
        assert one["overflow"] <= 0, one
        assert one["hollow"] == []
        assert all(name.startswith(home) for name in one["loaded"]), one


SEARCH = """<script>
window.trouble = [];
addEventListener("error", event => trouble.push(event.message));
const wait = time => new Promise(done => setTimeout(done, time));
addEventListener("load", async () => {
  await wait(500);
  document.querySelector(".md-search__button").click();
  await wait(500);
  const root = [...document.querySelectorAll("*")].find(one => one.shadowRoot).shadowRoot;
  const input = root.querySelector("input");
  input.value = "postgresql";
  input.dispatchEvent(new Event("input", {bubbles: true}));
  await wait(3000);
  const left = document.createElement("pre");
  left.id = "found";
  left.textContent = JSON.stringify({trouble, links: [...root.querySelectorAll("a")].map(one => one.href)});
  document.body.append(left);
});
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no chromium here")
def test_the_site_is_searched_without_a_server(site, tmp_path):
    text = (site / "index.html").read_text(encoding="utf-8")
    (site / "searched.html").write_text(text.replace("<head>", f"<head>{SEARCH}", 1), encoding="utf-8")
    seen = found(f"file://{site}/searched.html", tmp_path / "profile", NO_NETWORK, size="390,844")
    (site / "searched.html").unlink()
    assert seen["trouble"] == []
    assert seen["links"][0].startswith(f"file://{site}/streameval/guide/sql.html")
    assert seen["links"][0].endswith("#postgresql-and-spark")
