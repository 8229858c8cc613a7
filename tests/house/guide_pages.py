"""The README and the guides as tests read them: their pages, and the blocks of code in these."""

import re

from places import HOME

GUIDE = HOME / "streameval" / "guide"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [HOME / "README.md", *sorted(GUIDE.glob("*.md"))]}
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [(name, *block) for name, text in PAGES.items() for block in _FENCE.findall(text)]  # page, language, code


def recipe(language, word):
    """The one block of the page of recipes that is in `language` and holds `word`."""
    (code,) = [code for page, of, code in BLOCKS if page == "recipes.md" and of == language and word in code]
    return code
