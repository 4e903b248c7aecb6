"""`tiphys certs [check|renew]`: what certificates a cluster has, how long they last, and new ones."""

import argparse
import stat
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.cmd import certificates, data_directory, kubeconfigs
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.flags import Parser

PRIVATE = 0o600
_DAY = 86400.0


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"tiphys {name}",
        description="Show the certificates of a cluster, or issue new ones, which a running API server takes within seconds.",
    )
    add = parser.add_argument
    add("action", nargs="?", choices=("check", "renew"), default="check", help="what to do (default: %(default)s)")
    names = ", ".join(leaf.name for leaf in certificates.LEAVES)
    add("names", nargs="*", metavar="NAME", help=f"certificates to renew: {names} (default: all)")
    data_directory.add_flag(parser)
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    data.require()
    if given.action == "renew":
        return _renew(data, given.names)
    if given.names:
        raise Unusable("`check` shows all certificates; names are for `renew`")
    return _check(data)


def _renew(data: DataDirectory, names: list[str]) -> int:
    renewed = certificates.renew(data.pki, names, RealClock())
    if certificates.ADMIN in renewed:
        kubeconfigs.show_new_admin(data, tls.load(*certificates.files(data.pki, certificates.ADMIN.name)))
    for leaf in renewed:
        ends = tls.expires_at((data.pki / f"{leaf.name}.crt").read_bytes())
        print(f"Renewed {leaf.name}, good until {_moment(ends)}.")
    return 0


def _check(data: DataDirectory) -> int:
    """The exit code is 1 if anything is wrong."""
    rows, problems = [("CERTIFICATE", "SUBJECT", "EXPIRES", "REMAINING", "MODE")], []
    now = RealClock().now()
    for path in certificates.kept(data.pki):
        key = path.with_suffix(".key")
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
        except (OSError, ValueError) as error:
            problems.append(f"{path.name} cannot be read: {error}")
            continue
        ends = certificate.not_valid_after_utc.timestamp()
        rows.append((path.stem, _subject(certificate.subject), _moment(ends), f"{int((ends - now) // _DAY)}d", _mode(key)))
        if ends < now:
            problems.append(f"{path.name} has expired; `tiphys certs renew` issues a new one")
        if key.exists() and stat.S_IMODE(key.stat().st_mode) != PRIVATE:
            problems.append(f"{key} can be read by others; its mode should be 0600")
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for problem in problems:
        print(f"! {problem}")
    return 1 if problems else 0


def _subject(name: x509.Name) -> str:
    common = [str(each.value) for each in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organizations = [str(each.value) for each in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return ",".join([*(f"O={each}" for each in organizations), *(f"CN={each}" for each in common)])


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}" if path.exists() else "-"
