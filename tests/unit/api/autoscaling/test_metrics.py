import pytest

from tiphys.api.autoscaling import metrics


def resource(name="cpu", **target):
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def now(**current):
    return {"type": "Resource", "resource": {"name": "cpu", "current": current}}


# v1.36.4 pkg/printers/internalversion/printers.go (formatHPAMetrics)
@pytest.mark.parametrize(
    ("specs", "statuses", "expected"),
    [
        ([], [], "<none>"),
        ([resource(averageUtilization=80)], [], "cpu: <unknown>/80%"),
        ([resource(averageUtilization=80)], [now(averageUtilization=12)], "cpu: 12%/80%"),
        ([resource()], [now()], "cpu: <unknown>/<auto>"),
        ([resource(averageValue="1")], [now(averageValue="500m")], "cpu: 500m/1"),
        ([{"type": "Pods", "pods": {"target": {"averageValue": "5"}}}], [], "<unknown>/5"),
        ([{"type": "External", "external": {"target": {"averageValue": "5"}}}], [], "<unknown>/5 (avg)"),
        (
            [{"type": "Object", "object": {"target": {"value": "5"}}}],
            [{"type": "Object", "object": {"current": {"value": "3"}}}],
            "3/5",
        ),
        ([{"type": "Foo"}], [], "<unknown type>"),
        ([resource(averageUtilization=1)] * 4, [], "cpu: <unknown>/1%, cpu: <unknown>/1% + 2 more..."),
    ],
)
def test_on_one_line(specs, statuses, expected):
    assert metrics.on_one_line(specs, statuses) == expected
