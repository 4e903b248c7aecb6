"""A command line of kube-apiserver can be used as it is."""

import pytest

from tiphys.cmd import apiserver_command, apiserver_flags, authorization_flags, flags, idle_flags
from tiphys.cmd.data_directory import Unusable

# v1.36 cmd/kubeadm/app/phases/controlplane/manifests.go: getAPIServerCommand
KUBEADM = [
    "--advertise-address=192.0.2.1",
    "--allow-privileged=true",
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=/p/ca.crt",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--etcd-cafile=/p/etcd/ca.crt",
    "--etcd-certfile=/p/c.crt",
    "--etcd-keyfile=/p/c.key",
    "--etcd-servers=https://127.0.0.1:2379",
    "--kubelet-client-certificate=/p/k.crt",
    "--kubelet-client-key=/p/k.key",
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
    "--proxy-client-cert-file=/p/f.crt",
    "--proxy-client-key-file=/p/f.key",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-client-ca-file=/p/front.crt",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    "--secure-port=6443",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=/p/sa.pub",
    "--service-account-signing-key-file=/p/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--tls-cert-file=/p/a.crt",
    "--tls-private-key-file=/p/a.key",
]


def parsed(arguments):
    parser = apiserver_flags.parser("apiserver")
    given = parser.parse_args(arguments)
    authorization_flags.settle(given, flags.named(parser, arguments))
    apiserver_command._check(given)
    return given


def test_what_kubeadm_writes(capsys):
    idle_flags.tell(parsed(KUBEADM))
    assert capsys.readouterr().err.splitlines() == [
        f"warning: --proxy-client-{each}-file changes nothing here: requests are not passed on to servers of APIServices"
        for each in ("cert", "key")
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ""),
        (["--profiling=false", "--watch-cache", "--service-account-lookup", "--storage-backend=etcd3"], ""),
        (["--profiling"], "warning: --profiling changes nothing here: there is no Go program to be profiled\n"),
        (["--watch-cache=false"], "warning: --watch-cache changes nothing here: all is read from memory\n"),
    ],
)
def test_who_gives_one_is_told(capsys, arguments, told):
    idle_flags.tell(parsed(arguments))
    assert capsys.readouterr().err == told


# v1.36 staging/src/k8s.io/apiserver/pkg/server/options/server_run_options.go:205
@pytest.mark.parametrize("flag", ["--request-timeout=-1s", "--min-request-timeout=-1", "--shutdown-delay-duration=-1s"])
def test_no_time_is_negative(flag):
    with pytest.raises(Unusable, match=f"{flag.partition('=')[0]} can not be negative value"):
        parsed([flag])
