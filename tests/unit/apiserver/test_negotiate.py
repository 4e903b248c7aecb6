"""Accept headers that real clients send (captured from kubectl, client-go and controllers of v1.36)."""

import pytest

from tiphys.apiserver.negotiate import Form, accept, content_type
from tiphys.machinery.errors import ApiError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
PARTIAL = (
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        ("application/yaml", Form(yaml=True)),
        ("application/yaml;q=0.5, application/json;q=0.9", Form()),
        (TABLE, Form(view="Table", view_version="v1")),
        (PARTIAL, Form(view="PartialObjectMetadata", view_version="v1")),
        ("application/json;as=Unknown;v=v1;g=meta.k8s.io,application/json", Form()),
    ],
)
def test_the_first_form_that_we_can_write(header, form):
    assert accept(header) == form


@pytest.mark.parametrize("header", ["application/vnd.kubernetes.protobuf", "text/html", "application/json;as=Table;v=v9;g=x"])
def test_nothing_acceptable(header):
    with pytest.raises(ApiError) as caught:
        accept(header)
    assert caught.value.code == 406


def test_a_body_without_content_type_is_json():
    # conformance: raw POSTs without a header must be read as JSON (field_validation.go)
    assert content_type("") == "application/json"
    assert content_type("application/json; charset=utf-8") == "application/json"
