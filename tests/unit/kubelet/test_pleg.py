from tiphys.kubelet.pleg import changed, snapshot


def test_pods_whose_containers_look_different_have_changed():
    # v1.36.4 pkg/kubelet/pleg/generic.go, computeEvents
    before = snapshot([("u1", "c1", "running"), ("u2", "c2", "running"), ("u3", "c3", "running")])
    after = snapshot([("u1", "c1", "running"), ("u2", "c2", "exited"), ("u4", "c4", "running")])
    assert changed(before, after) == {"u2", "u3", "u4"}
    assert changed(after, after) == set()
