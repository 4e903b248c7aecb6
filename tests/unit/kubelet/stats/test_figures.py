"""What the kernel's files say (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst), and how it is told."""

from pathlib import Path

from tiphys.base import metrics_text
from tiphys.kubelet.stats import exposition
from tiphys.kubelet.stats.figures import (
    V1_FILES,
    V2_FILES,
    ContainerUse,
    Disk,
    Interface,
    NodeUse,
    PodUse,
    Use,
    interfaces,
    rate,
    use_v1,
    use_v2,
)
from tiphys.kubelet.stats.reading import taken
from tiphys.kubelet.stats.summary import summary


def test_version_2():
    files = dict.fromkeys(V2_FILES, "")
    files["cpu.stat"] = "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_throttled 4\n"
    files["memory.stat"] = "anon 100\nfile 70\ninactive_file 30\npgfault 9\n"
    files |= {"memory.current": "200\n", "memory.max": "max\n", "pids.current": "3\n", "memory.events": "low 0\nmax 7\n"}
    use = use_v2(files, 1.0)
    assert (use.cpu, use.user, use.throttled) == (5_000_000, 3_000_000, 4)
    assert (use.memory, use.working_set, use.rss, use.memory_limit, use.failures) == (200, 170, 100, 0, 7)
    assert (use.processes, use.faults, use.swap) == (3, 9, 0)


def test_version_1():
    files = {each.rpartition("/")[2]: "" for each in V1_FILES}
    files |= {"memory.usage_in_bytes": "200", "cpuacct.usage": "7000", "cpuacct.stat": "user 5\nsystem 1\n"}
    files |= {"memory.stat": "inactive_file 1\ntotal_inactive_file 30\ntotal_rss 90\n"}
    files |= {"memory.limit_in_bytes": "9223372036854771712", "pids.current": "2"}
    use = use_v1(files, 1.0, 100)
    assert (use.cpu, use.user, use.system) == (7000, 50_000_000, 10_000_000)
    assert (use.memory, use.working_set, use.rss, use.memory_limit) == (200, 170, 90, 0)


def test_a_working_set_is_never_less_than_nothing():
    # https://github.com/google/cadvisor: setMemoryStats
    files = {each.rpartition("/")[2]: "" for each in V1_FILES}
    files |= {"memory.usage_in_bytes": "10", "memory.stat": "total_inactive_file 30\n"}
    assert use_v1(files, 1.0, 100).working_set == 0


def test_rates():
    assert rate(Use(20.0, cpu=5_000), Use(10.0, cpu=1_000), 0.0) == 400
    assert rate(Use(20.0, cpu=5_000), None, 10.0) == 500
    # It was started anew in between.
    assert rate(Use(20.0, cpu=100), Use(10.0, cpu=5_000), 19.0) == 100


def test_network_interfaces():
    text = "Inter-|\n face |\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 10 2 3 0 0 0 0 0 40 5 6 0 0 0 0 0\n"
    assert interfaces(text) == (Interface("eth0", 10, 3, 40, 6, 2, 5),)


def test_sizes_of_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"x" * 5000)
    (tmp_path / "a" / "again").hardlink_to(tmp_path / "a" / "one")
    (tmp_path / "a" / "link").symlink_to("/usr")
    size, inodes = taken([tmp_path / "a", Path("/nowhere")])
    assert inodes == 3
    assert size >= 5000


DISK = Disk(2.0, 50, 100, 40, 5, 10, 5)
USE = Use(2.0, cpu=3_000_000_000, memory=100, working_set=80, rss=60, memory_limit=200)
POD = {"metadata": {"name": "web", "namespace": "shop", "uid": "u1"}, "spec": {"volumes": [{"name": "data"}, {"name": "db"}]}}
POD["spec"]["volumes"][1]["persistentVolumeClaim"] = {"claimName": "mine"}
CONTAINER = ContainerUse("c", "c1", 'busy"box', 1.5, USE, 250, DISK, DISK)
FOUND = PodUse(POD, 1.0, USE, 500, (Interface("eth0", 1, 2, 3, 4),), (CONTAINER,), {"data": DISK, "db": DISK}, "s1")
NODE = NodeUse("n1", 0.0, USE, 900, DISK, DISK, 1000, 7, 99, cpus=2)


def test_the_summary():
    told = summary(NODE, [FOUND])
    assert told["node"]["cpu"] == {"time": "1970-01-01T00:00:02Z", "usageNanoCores": 900, "usageCoreNanoSeconds": 3_000_000_000}
    assert told["node"]["rlimit"]["curproc"] == 7
    pod = told["pods"][0]
    assert pod["podRef"] == {"name": "web", "namespace": "shop", "uid": "u1"}
    assert pod["containers"][0]["memory"]["availableBytes"] == 120
    assert pod["network"]["name"] == "eth0"
    assert pod["network"]["rxBytes"] == 1
    assert pod["volume"][1]["pvcRef"] == {"name": "mine", "namespace": "shop"}
    # Its layer, its log and its own volume; the claim is kept elsewhere.
    assert pod["ephemeral-storage"]["usedBytes"] == 3 * 40
    short = summary(NODE, [FOUND], only_cpu_and_memory=True)
    assert "fs" not in short["node"]
    assert "rootfs" not in short["pods"][0]["containers"][0]


def samples(text):
    return {
        (each.name, *(f"{name}={value}" for name, value in sorted(each.labels.items()))): each
        for each in metrics_text.samples(text)
    }


def test_what_autoscalers_read():
    found = samples(exposition.resource(NODE, [FOUND]))
    labels = ("container=c", "namespace=shop", "pod=web")
    assert found["container_cpu_usage_seconds_total", *labels].value == 3.0
    assert found["container_memory_working_set_bytes", *labels].value == 80
    assert found["container_memory_working_set_bytes", *labels].at == 2.0
    assert found["pod_memory_working_set_bytes", *labels[1:]].value == 80
    assert found["node_cpu_usage_seconds_total",].value == 3.0
    assert found["scrape_error",].value == 0


def test_what_people_read():
    found = samples(exposition.cadvisor(NODE, [FOUND], "/kubepods"))
    labels = ("container=c", "id=c1", 'image=busy"box', "name=c1", "namespace=shop", "pod=web")
    assert found["container_memory_rss", *labels].value == 60
    assert found["container_fs_usage_bytes", *labels].value == 40
    network = ("container=", "id=s1", "image=", "interface=eth0", "name=s1", "namespace=shop", "pod=web")
    assert found["container_network_transmit_bytes_total", *network].value == 3
    assert found["machine_cpu_cores",].value == 2
