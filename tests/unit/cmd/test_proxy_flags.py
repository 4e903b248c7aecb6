"""`tiphys proxy` by flags, and by upstream's file."""

import pytest

from tiphys.cmd import proxy_config, proxy_flags, proxy_mode
from tiphys.cmd.data_directory import Unusable
from tiphys.proxy.apply import Refused
from tiphys.proxy.serving import Serving

BY_KUBEADM = """
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
kind: KubeProxyConfiguration
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}}, verbosity: 0}
metricsBindAddress: ""
mode: ""
nftables: {masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel: {enableDSR: false, forwardHealthCheckVip: false, networkName: "", rootHnsEndpointName: "", sourceVip: ""}
"""


def parsed(*words, file=None):
    given = proxy_flags.parser("proxy", "").parse_args([*words, *(("--config", str(file)) if file else ())])
    if file:
        proxy_config.apply(file, given)
    return given


def written(tmp_path, text):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return file


def test_the_file_that_kubeadm_writes_changes_only_what_it_says(tmp_path):
    given = parsed("--hostname-override", "n1", file=written(tmp_path, BY_KUBEADM))
    usual = parsed("--hostname-override", "n1", "--cluster-cidr", "10.244.0.0/16")
    assert proxy_flags.settings(given) == proxy_flags.settings(usual)
    assert proxy_flags.switches(given, proxy_flags.settings(given)) == proxy_flags.switches(usual, proxy_flags.settings(usual))
    assert proxy_flags.serving(given) == Serving(("0.0.0.0", 10256), ("127.0.0.1", 10249))
    assert str(given.kubeconfig) == "/var/lib/kube-proxy/kubeconfig.conf"


def test_a_file_in_full(tmp_path):
    # v1.36.4 staging/src/k8s.io/kube-proxy/config/v1alpha1/types.go
    text = """
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: there
bindAddress: 192.0.2.1
detectLocalMode: InterfaceNamePrefix
detectLocal: {interfaceNamePrefix: veth}
nodePortAddresses: [primary]
healthzBindAddress: 127.0.0.1:1
metricsBindAddress: "[::]:2"
bindAddressHardFail: true
featureGates: {ComponentFlagz: false}
iptables: {masqueradeBit: 3, masqueradeAll: true, syncPeriod: 1m, minSyncPeriod: 2s, localhostNodePorts: false}
nftables: {masqueradeBit: 9, syncPeriod: 7s}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 5s, tcpBeLiberal: true}
"""
    given = parsed(file=written(tmp_path, text))
    found = proxy_flags.settings(given)
    assert (found.node, found.mode, found.address, found.pod_interface) == ("there", "iptables", "192.0.2.1", "veth+")
    assert (found.mark, found.masquerade_all, found.sync_period, found.min_sync_period) == (8, True, 60.0, 2.0)
    assert (found.node_port_ranges, found.localhost_node_ports, found.tcp_liberal) == (("primary",), False, True)
    assert proxy_flags.serving(given) == Serving(("127.0.0.1", 1), ("::", 2), must=True)
    assert given.feature_gates == {"ComponentFlagz": False}
    assert proxy_flags.switches(given, found) == {
        "net/netfilter/nf_conntrack_tcp_timeout_close_wait": 5,
        "net/netfilter/nf_conntrack_tcp_be_liberal": 1,
    }


def test_a_file_for_ipvs(tmp_path):
    # v1.36.4 staging/src/k8s.io/kube-proxy/config/v1alpha1/types.go KubeProxyIPVSConfiguration
    text = """
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: ipvs
iptables: {masqueradeBit: 3, masqueradeAll: true, syncPeriod: 1m}
ipvs: {syncPeriod: 7s, minSyncPeriod: 2s, scheduler: lc, excludeCIDRs: [192.0.2.0/24, 10.0.0.0/8], strictARP: true,
  tcpTimeout: 15m}
"""
    given = parsed(file=written(tmp_path, text))
    found = proxy_flags.settings(given)
    assert (found.mode, found.mark, found.masquerade_all) == ("ipvs", 8, True)
    assert (found.sync_period, found.min_sync_period) == (7.0, 2.0)
    assert (found.scheduler, found.spared) == ("lc", ("192.0.2.0/24", "10.0.0.0/8"))
    assert proxy_flags.ipvs_timeouts(given) == ["900", "0", "0"]
    switches = proxy_flags.switches(given, found)
    assert (switches["net/ipv4/conf/all/arp_ignore"], switches["net/ipv4/conf/all/arp_announce"]) == (1, 2)


def test_flags_of_ipvs_say_nothing_to_other_modes():
    # v1.36.4 cmd/kube-proxy/app/options.go:338
    words = ["--ipvs-sync-period", "9s", "--iptables-sync-period", "8s", "--ipvs-strict-arp", "--ipvs-udp-timeout", "1s"]
    other, ipvs = parsed(*words), parsed(*words, "--proxy-mode", "ipvs")
    assert (proxy_flags.settings(other).sync_period, proxy_flags.settings(ipvs).sync_period) == (8.0, 9.0)
    assert proxy_flags.ipvs_timeouts(other) == []
    assert "net/ipv4/conf/all/arp_ignore" not in proxy_flags.switches(other, proxy_flags.settings(other))


def test_a_mode_that_this_machine_cannot_do(monkeypatch):
    # v1.36.4 cmd/kube-proxy/app/server_linux.go:190
    async def refuse(scheduler: str) -> None:
        raise Refused("ipvs not supported by the kernel")

    monkeypatch.setattr(proxy_mode.kernel, "check", refuse)
    proxy_mode.check("nftables")
    with pytest.raises(Unusable, match=r"^can't use the IPVS proxier: ipvs not supported by the kernel$"):
        proxy_mode.check("ipvs")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Other", "not a KubeProxyConfiguration"),
        ("{", "while parsing"),
        ("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmodus: x", 'unknown field "modus"'),
        (
            "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nipvs: {syncPeriod: x}\nmode: ipvs",
            "invalid",
        ),
        ("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nipvs: {x: 1}", 'unknown field "ipvs.x"'),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path, text, said):
    with pytest.raises(Unusable, match=said):
        parsed(file=written(tmp_path, text))


def test_modes_that_do_not_exist(tmp_path):
    for line in ("mode: userspace", "detectLocalMode: Guess"):
        file = written(tmp_path, f"apiVersion: {proxy_config.GROUP}\nkind: {proxy_config.KIND}\n{line}\n")
        with pytest.raises(Unusable, match="there is no"):
            proxy_flags.settings(parsed(file=file))


@pytest.mark.parametrize(
    "words",
    [
        ["--detect-local-mode", "BridgeInterface"],
        ["--detect-local-mode", "InterfaceNamePrefix"],
        ["--cluster-cidr", "10.0.0.0/33"],
        ["--iptables-masquerade-bit", "32"],
        ["--nodeport-addresses", "secondary"],
        ["--ipvs-exclude-cidrs", "10.0.0.0/33"],
        ["--ipvs-tcp-timeout=-1s"],
    ],
)
def test_flags_that_make_no_sense(words):
    with pytest.raises(Unusable):
        proxy_flags.settings(parsed(*words))


def test_addresses_to_listen_on():
    assert proxy_flags.serving(parsed("--healthz-bind-address", "", "--metrics-bind-address", "::1")) == Serving(
        None, ("::1", 10249)
    )
    with pytest.raises(Unusable):
        proxy_flags.serving(parsed("--healthz-bind-address", "localhost:1"))
