"""Links of an HTML page that is shown below a prefix: `/style.css` becomes `PREFIX/style.css`. Core.

Only the values of attributes that hold URLs change; every other byte of the page stays as it was.
"""

import re
from collections.abc import Callable
from html import escape, unescape

ATTRIBUTES: dict[str, frozenset[str]] = {
    tag: frozenset(attributes.split())
    for tag, attributes in {
        "a": "href",
        "applet": "codebase",
        "area": "href",
        "audio": "src",
        "base": "href",
        "blockquote": "cite",
        "body": "background",
        "button": "formaction",
        "command": "icon",
        "del": "cite",
        "embed": "src",
        "form": "action",
        "frame": "longdesc src",
        "head": "profile",
        "html": "manifest",
        "iframe": "longdesc src",
        "img": "longdesc src usemap",
        "input": "src usemap formaction",
        "ins": "cite",
        "link": "href",
        "object": "classid codebase data usemap",
        "q": "cite",
        "script": "src",
        "source": "src",
        "video": "poster src",
    }.items()
}

_PIECES = re.compile(
    r"<!--.*?-->"
    r"""|<(?P<tag>[a-zA-Z][^\s/>]*)(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"""(?P<before>(?P<name>[^\s=/"'>]+)\s*=\s*)(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'>]+))"""
)
_RAW_TEXT = re.compile(r"(<(script|style|textarea|title|xmp)\b[^>]*>)(.*?)(?=</\2\b|\Z)", re.DOTALL | re.IGNORECASE)


def rewrite(page: str, change: Callable[[str], str]) -> str:
    """`page` with `change` applied to each URL."""
    parts: list[str] = []
    at = 0
    # What stands between <script> and </script> is not markup, whatever it looks like.
    for raw in _RAW_TEXT.finditer(page):
        parts += (_markup(page[at : raw.end(1)], change), raw[3])
        at = raw.end()
    parts.append(_markup(page[at:], change))
    return "".join(parts)


def _markup(text: str, change: Callable[[str], str]) -> str:
    def piece(found: re.Match[str]) -> str:
        wanted = ATTRIBUTES.get((found["tag"] or "").lower())
        if not wanted:
            return found[0]
        tag = found["tag"]
        return f"<{tag}{_ATTRIBUTE.sub(lambda each: _attribute(each, wanted, change), found['attributes'])}>"

    return _PIECES.sub(piece, text)


def _attribute(found: re.Match[str], wanted: frozenset[str], change: Callable[[str], str]) -> str:
    if found["name"].lower() not in wanted:
        return found[0]
    value = found["double"] or found["single"] or found["bare"] or ""
    given = unescape(value)
    changed = change(given)
    return found[0] if changed == given else f'{found["before"]}"{escape(changed)}"'
