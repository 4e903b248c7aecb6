"""The flags of `tiphys apiserver`: upstream's names and meanings, and the few of our own."""

import argparse
from pathlib import Path

from tiphys.apiserver.call import WATCH_SECONDS
from tiphys.apiserver.event_expiry import TTL
from tiphys.apiserver.flow_control import READS, WRITES
from tiphys.apiserver.pipeline import LONGEST
from tiphys.cmd import (
    api_flags,
    authentication_flags,
    authorization_flags,
    data_directory,
    gate_flags,
    idle_flags,
    kubelet_client_flags,
    writing_flags,
)
from tiphys.cmd.flags import Parser, yes_or_no
from tiphys.machinery import feature_gates

ISSUER = "https://kubernetes.default.svc.cluster.local"


def listed(value: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in value.split(",") if each.strip())


def port_range(value: str) -> tuple[int, int]:
    first, _, last = value.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) <= 65535):
        raise argparse.ArgumentTypeError(f"{value!r} is not a range of ports like 30000-32767")
    return int(first), int(last)


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"tiphys {name}",
        description="Run the API server alone, with the flags of kube-apiserver. "
        "Certificates and keys that no flag names are made in the data directory, as `tiphys up` does.",
    )
    _serving(parser.add_argument_group("serving"))
    _storing(parser.add_argument_group("store"))
    authentication = parser.add_argument_group("authentication")
    _authenticating(authentication)
    authentication_flags.add_authentication(authentication)
    _service_accounts(parser.add_argument_group("service accounts"))
    authorization_flags.add(parser.add_argument_group("authorization"))
    api_flags.add(parser.add_argument_group("API"))
    _services(parser.add_argument_group("services"))
    gate_flags.add(parser, feature_gates.API_SERVER)
    kubelet_client_flags.add(parser)
    writing_flags.add(parser)
    idle_flags.add(parser.add_argument_group("flags of upstream that change nothing here"))
    parser.add_argument(
        "--allow-privileged",
        type=yes_or_no,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="whether containers may be privileged (default: true)",
    )
    parser.add_argument("-v", "--v", type=int, default=0, metavar="N", help="how much to log; 3 shows every request")
    return parser


def _serving(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--bind-address", default="0.0.0.0", metavar="IP", help="address to listen on (default: %(default)s)")
    add("--secure-port", type=int, default=6443, metavar="PORT", help="0 takes a free one (default: %(default)s)")
    add(
        "--advertise-address",
        default="",
        metavar="IP",
        help="the address in the endpoints of the service `kubernetes` (default: the bind address, or else this machine's)",
    )
    add("--tls-cert-file", type=Path, metavar="F", help="serving certificate, with its chain")
    add("--tls-private-key-file", type=Path, metavar="F", help="its key")
    for what, default in (("", READS), ("mutating-", WRITES)):
        add(
            f"--max-{what}requests-inflight",
            type=int,
            default=default,
            metavar="N",
            help="with its sibling: how many requests are served at a time (default: %(default)s)",
        )
    add(
        "--tls-min-version",
        choices=("VersionTLS12", "VersionTLS13"),
        default="VersionTLS12",
        help="the oldest TLS that is spoken (default: %(default)s)",
    )
    add(
        "--request-timeout",
        type=writing_flags.seconds,
        default=LONGEST,
        metavar="D",
        help="the longest that a request may ask for with its own timeout (default: 1m0s)",
    )
    add(
        "--min-request-timeout",
        type=int,
        default=int(WATCH_SECONDS),
        metavar="S",
        help="after how many seconds a watch ends that says nothing, up to twice as many (default: %(default)s)",
    )
    add(
        "--shutdown-delay-duration",
        type=writing_flags.seconds,
        default=0.0,
        metavar="D",
        help="how long it still serves when it is told to stop, and says that it is not ready (default: 0s)",
    )
    add("--shutdown-grace", type=float, default=10.0, metavar="S", help="seconds for requests to finish (default: %(default)s)")


def _storing(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--store", default="sqlite", metavar="STORE", help="sqlite or memory, where there is no etcd (default: %(default)s)")
    data_directory.add_flag(group, "where certificates and the store lie")
    add("--etcd-servers", type=listed, default=(), metavar="URLS", help="the members of an etcd, with commas between them")
    add("--etcd-cafile", type=Path, metavar="F", help="authority of etcd's certificates")
    add("--etcd-certfile", type=Path, metavar="F", help="certificate to show to etcd")
    add("--etcd-keyfile", type=Path, metavar="F", help="its key")
    add("--etcd-prefix", default="/registry", metavar="P", help="of all keys in etcd (default: %(default)s)")
    add(
        "--event-ttl",
        type=writing_flags.seconds,
        default=TTL,
        metavar="D",
        help="how long events stay that nobody repeats; 0: for good (default: 1h0m0s)",
    )


def _authenticating(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--client-ca-file", type=Path, metavar="F", help="authorities of client certificates")
    add("--token-auth-file", type=Path, metavar="F", help='CSV of static tokens: token,user,uid[,"group1,group2"]')
    add(
        "--anonymous-auth",
        type=yes_or_no,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="whether requests without a credential are those of system:anonymous (default: true)",
    )
    add(
        "--enable-bootstrap-token-auth",
        type=yes_or_no,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="whether the secrets of kube-system that are bootstrap tokens let in (default: false)",
    )
    add("--requestheader-client-ca-file", type=Path, metavar="F", help="authorities of front proxies")
    add("--requestheader-allowed-names", type=listed, default=(), metavar="NAMES", help="front proxies (default: any)")
    for what, default in (("username", "X-Remote-User"), ("uid", ""), ("group", "X-Remote-Group")):
        add(
            f"--requestheader-{what}-headers",
            type=listed,
            default=listed(default),
            metavar="NAMES",
            help=f"headers with the {what} (default: {default or 'none'})",
        )
    add(
        "--requestheader-extra-headers-prefix",
        type=listed,
        default=("X-Remote-Extra-",),
        metavar="PREFIXES",
        help="of headers with more about the user (default: X-Remote-Extra-)",
    )


def _service_accounts(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--service-account-issuer",
        action="append",
        default=[],
        metavar="URL",
        help=f"who issues tokens; given again: also believed (default: {ISSUER})",
    )
    add("--service-account-signing-key-file", type=Path, metavar="F", help="key that signs tokens")
    add(
        "--service-account-key-file",
        type=Path,
        action="append",
        default=[],
        metavar="F",
        help="keys whose tokens are believed; may be given several times (default: the signing key)",
    )
    add("--service-account-jwks-uri", default="", metavar="URL", help="where others find these keys (default: this server)")
    add(
        "--service-account-extend-token-expiration",
        type=yes_or_no,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="whether the tokens of pods' own volumes live longer than they say (default: true)",
    )
    add(
        "--service-account-max-token-expiration",
        type=writing_flags.seconds,
        default=0.0,
        metavar="D",
        help="longest life of a token (default: no limit)",
    )
    add(
        "--api-audiences", type=listed, default=(), metavar="NAMES", help="names of this server in tokens (default: the issuer)"
    )


def _services(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--service-cluster-ip-range",
        type=listed,
        default=("10.0.0.0/24",),
        metavar="CIDRS",
        help="addresses of Services: one range, or one of each family (default: 10.0.0.0/24)",
    )
    add(
        "--service-node-port-range",
        type=port_range,
        default=(30000, 32767),
        metavar="RANGE",
        help="ports of Services on nodes (default: 30000-32767)",
    )
