"""Links of pages that are shown below a prefix."""

import pytest

from tiphys.apiserver.html_links import rewrite


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ('<a href="/x">/x</a>', '<a href="/p/x">/x</a>'),
        ("<A class=b HREF='/x?a=1&amp;b=2'>", '<A class=b HREF="/p/x?a=1&amp;b=2">'),
        ("<img src=/i.png usemap='#m'/>", "<img src=\"/p/i.png\" usemap='#m'/>"),
        ('<p href="/x">', '<p href="/x">'),
        ('<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'),
        ('<script src="/s.js">"<a href=\\"/x\\">"</script>', '<script src="/p/s.js">"<a href=\\"/x\\">"</script>'),
        ('a < b <a href="/x"', 'a < b <a href="/x"'),
        ('<a href="relative">', '<a href="relative">'),
    ],
)
@pytest.mark.differs(
    "writes a tag with a link in it anew, quotes and all, where it rewrites the page of a proxied pod or Service.",
    "only the link is changed; the rest of the tag stays as it was written.",
)
def test_links(page, seen):
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/proxy/transport.go atomsToAttrs, rewriteHTML.
    assert rewrite(page, lambda link: "/p" + link if link.startswith("/") else link) == seen
