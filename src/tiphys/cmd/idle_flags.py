"""Flags of kube-apiserver that are taken, so that its command line can be used as it is, and that change nothing here.

Only such as neither let anybody in or out nor change what clients see: any other flag that is not known is refused. Who gives
one another value than what is done here anyway is told so.
"""

import argparse
import sys

_HTTP1 = "HTTP/1.1 is spoken"
_MEMORY = "all is read from memory"
_ETCD = "how often etcd is asked has one measure"
_LOG = "what is logged has one form"
_FORWARDING = "requests are not passed on to servers of APIServices"

FLAGS: dict[str, tuple[str, str]] = {
    "aggregator-reject-forwarding-redirect": ("true", _FORWARDING),
    "cert-dir": ("/var/run/kubernetes", "certificates are made in the data directory"),
    "contention-profiling": ("false", "there is no Go program to be profiled"),
    "delete-collection-workers": ("1", "one after the other is deleted"),
    "disable-http2-serving": ("true", _HTTP1),
    "enable-aggregator-routing": ("false", _FORWARDING),
    "enable-garbage-collector": ("true", "owners keep their finalizers in any case"),
    "enable-logs-handler": ("false", "there are no files of logs to be served"),
    "enable-priority-and-fairness": ("true", "requests always queue by priority"),
    "endpoint-reconciler-type": ("lease", "this server's address is written when it starts"),
    "etcd-compaction-interval": ("5m0s", _ETCD),
    "etcd-count-metric-poll-period": ("1m0s", _ETCD),
    "etcd-db-metric-poll-interval": ("30s", _ETCD),
    "etcd-healthcheck-timeout": ("2s", _ETCD),
    "etcd-readycheck-timeout": ("2s", _ETCD),
    "goaway-chance": ("0", _HTTP1),
    "http2-max-streams-per-connection": ("0", _HTTP1),
    "lease-reuse-duration-seconds": ("60", "events go without leases"),
    "log-flush-frequency": ("5s", _LOG),
    "logging-format": ("text", _LOG),
    "profiling": ("false", "there is no Go program to be profiled"),
    "proxy-client-cert-file": ("", _FORWARDING),
    "proxy-client-key-file": ("", _FORWARDING),
    "service-account-lookup": ("true", "tokens of accounts that are gone are never believed"),
    "storage-backend": ("etcd3", "--store or --etcd-servers says where objects are kept"),
    "storage-media-type": ("application/json", "objects are kept as JSON"),
    "vmodule": ("", _LOG),
    "watch-cache": ("true", _MEMORY),
    "watch-cache-sizes": ("", _MEMORY),
}
"""What each would have to be to say what is done here, and why nothing else is."""


def add(group: argparse._ArgumentGroup) -> None:
    for name, (usual, reason) in FLAGS.items():
        truth: dict[str, str] = {"nargs": "?", "const": "true"} if usual in ("true", "false") else {}
        group.add_argument(f"--{name}", default=usual, metavar="V", help=f"changes nothing: {reason}", **truth)  # type: ignore[arg-type]


def tell(given: argparse.Namespace) -> None:
    for name, (usual, reason) in FLAGS.items():
        if str(getattr(given, name.replace("-", "_"))).lower() != usual:
            print(f"warning: --{name} changes nothing here: {reason}", file=sys.stderr)
