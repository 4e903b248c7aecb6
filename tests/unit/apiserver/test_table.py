"""Tables: which columns, and what they are said to show. Authority: v1.36.4 pkg/printers/internalversion/printers.go."""

from tests.wire import Wire, converse

from tiphys.api.registry import KINDS
from tiphys.apiserver.column_texts import texts
from tiphys.apiserver.table import columns_of

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def test_texts_are_about_columns_that_there_are():
    columns = {(kind.group, kind.plural, column.name) for kind in KINDS for column in columns_of(kind)}
    assert texts().keys() <= columns


def test_columns_say_what_they_show():
    async def scenario(wire: Wire) -> None:
        shown = (await wire("GET", "/api/v1/pods", accept=TABLE)).tree["columnDefinitions"]
        said = {each["name"]: each for each in shown}
        assert said["Node"]["description"].startswith("NodeName indicates in which node this pod is scheduled.")
        assert (said["Age"]["type"], said["Node"]["priority"]) == ("string", 1)
        limits = (await wire("GET", "/api/v1/limitranges", accept=TABLE)).tree["columnDefinitions"]
        assert [(each["name"], each["type"]) for each in limits] == [("Name", "string"), ("Created At", "date")]

    converse(scenario)
