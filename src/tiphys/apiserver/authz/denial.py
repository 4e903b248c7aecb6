"""The words of a refusal."""

from tiphys.apiserver.authz.attributes import Attributes
from tiphys.machinery.errors import ApiError, forbidden
from tiphys.machinery.fields import quote

_NO_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class CannotDecide(Exception):
    """An authorizer could not be asked, and nobody allows the request; not the asking user's fault."""

    def page(self, uri: str) -> str:
        """As a page, which a browser may show."""
        return f"Internal Server Error: {quote(uri)}: {self}\n".translate(_NO_MARKUP)


def told(asked: Attributes) -> str:
    who, verb = quote(asked.user.name), asked.verb
    if asked.path:
        return f"User {who} cannot {verb} path {quote(asked.path)}"
    what = f"{quote(asked.full_resource)} in API group {quote(asked.group)}"
    where = f"in the namespace {quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
    return f"User {who} cannot {verb} resource {what} {where}"


def denial(asked: Attributes, reason: str = "") -> ApiError:
    """403. A browser may show it, so nothing in it may look like markup."""
    why = told(asked).translate(_NO_MARKUP)
    return forbidden(asked.group, asked.resource, asked.name if asked.resource else "", f"{why}: {reason}" if reason else why)
