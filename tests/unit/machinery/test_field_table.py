from tiphys.machinery import field_table
from tiphys.machinery.field_table import by_name, fields


# v1.36.4 staging/src/k8s.io/api/core/v1/types.go and generated.proto
def test_what_is_known_of_a_field():
    container = by_name("api.core.v1.Container")
    assert container["name"].number == 1
    assert container["name"].keeps_zero
    assert not container["image"].keeps_zero
    assert container["restartPolicy"].pointer
    assert container["restartPolicy"].go == "v1.ContainerRestartPolicy"
    assert container["env"].repeated
    assert container["env"].type == "api.core.v1.EnvVar"
    limits = by_name("api.core.v1.ResourceRequirements")["limits"]
    assert limits.map
    assert limits.type == "apimachinery.pkg.api.resource.Quantity"


def test_what_go_always_writes():
    always = {name for name, each in by_name("api.core.v1.Container").items() if each.always}
    assert always == {"name", "resources"}
    assert {name for name, each in by_name("api.apps.v1.ReplicaSetStatus").items() if each.always} == {"replicas"}
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go: creationTimestamp is omitzero
    assert not any(each.always for each in by_name("apimachinery.pkg.apis.meta.v1.ObjectMeta").values())


def test_inline_fields_stand_in_their_place():
    assert [each.name for each in fields("api.core.v1.ConfigMapKeySelector")][1:] == ["key", "optional"]
    assert set(by_name("api.core.v1.ConfigMapKeySelector")) == {"name", "key", "optional"}
    assert "resources" in by_name("api.core.v1.EphemeralContainer")


def test_unknown_messages():
    assert not field_table.known("api.core.v1.Nothing")
    assert fields("api.core.v1.Nothing") == ()


def test_covers_the_published_definitions(schemas):
    missing = []
    for definition, source in schemas.definitions.items():
        known = by_name(definition.removeprefix("io.k8s."))
        if "pkg.version" in definition:
            continue
        missing += [(definition, name) for name in source.get("properties", {}) if name not in known]
    assert [each for each in missing if each[1] not in ("apiVersion", "kind")] == []
