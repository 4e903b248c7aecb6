"""Text in headers. HTTP has bytes there, which come here as Latin-1; who names users means UTF-8."""


def utf8(value: str) -> str:
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode(errors="replace")
    except UnicodeEncodeError:
        # From a caller in this process, whose text has never been bytes.
        return value


def all_of(joined: str) -> list[str]:
    """Of a header that may be given several times: the server joins the values by a comma."""
    return [utf8(each.strip()) for each in joined.split(",")]
