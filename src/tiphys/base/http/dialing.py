"""Why somebody could not be reached, in the words that people know from Go's programs."""

import errno
import os
import ssl

_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ECONNRESET: "connection reset by peer",
}


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def failure(error: ConnectionError, host: str, port: int) -> str:
    """Of what `HttpClient` raised for this host and port."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    where = f"dial tcp {bracketed(host)}:{port}"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {cause.verify_message}"
    if cause.errno is not None and not isinstance(cause, ssl.SSLError):
        return f"{where}: connect: {words(cause)}"
    if "took too long" in str(error):
        return f"{where}: i/o timeout"
    return str(cause)


def words(error: OSError) -> str:
    """Without the number."""
    if isinstance(error, ssl.SSLError) or error.errno is None:
        return str(error)
    if error.errno < 0:  # a name that nobody knows, say
        return str(error.strerror or error)
    return _WORDS.get(error.errno) or os.strerror(error.errno).lower()
