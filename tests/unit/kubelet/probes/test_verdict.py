"""When answers become verdicts (v1.36.4 pkg/kubelet/prober/worker.go, doProbe)."""

import pytest

from tiphys.kubelet.probes.verdict import Counted, count, port_number


@pytest.mark.parametrize(
    ("answers", "probe", "verdicts"),
    [
        ("+", {}, [True]),
        ("--", {}, [None, None]),
        ("---", {}, [None, None, False]),
        ("-+-+", {"failureThreshold": 1}, [False, True, False, True]),
        ("+--+--", {}, [True, True, True, True, True, True]),
        ("+---+", {}, [True, True, True, False, True]),
        ("--++", {"failureThreshold": 1, "successThreshold": 2}, [False, False, False, True]),
    ],
)
def test_rows_of_answers(answers, probe, verdicts):
    state, found = Counted(), []
    for answer in answers:
        state = count(state, answer == "+", probe)
        found.append(state.verdict)
    assert found == verdicts


@pytest.mark.parametrize(("port", "number"), [(80, 80), ("web", 8080), ("81", 81)])
def test_ports(port, number):
    assert port_number({"ports": [{"name": "web", "containerPort": 8080}]}, port) == number


@pytest.mark.parametrize("port", ["nope", 0, 70000])
def test_wrong_ports(port):
    with pytest.raises(ValueError, match="port"):
        port_number({}, port)
