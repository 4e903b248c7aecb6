"""The Accept header: what a client wants, best first."""


def by_quality(header: str) -> list[tuple[str, dict[str, str]]]:
    """Media ranges, in lower case, with their parameters."""
    clauses = []
    for text in header.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if quality > 0:
            clauses.append((quality, media.lower(), parameters))
    clauses.sort(key=lambda clause: -clause[0])
    return [(media, parameters) for _, media, parameters in clauses]
