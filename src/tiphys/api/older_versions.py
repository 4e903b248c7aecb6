"""Objects in an older version of their kind, as others may have stored them, in the version that is served.

Of what upstream serves by default it keeps three kinds in an older version, so that the release before can still read them
(v1.36.4 pkg/kubeapiserver/default_storage_factory_builder.go:75, apiextensions-apiserver/pkg/cmd/server/options/options.go:72).
"""

from tiphys.machinery.tree import Obj

_DEFINITION = ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")
_SAME_FIELDS = frozenset(
    ("admissionregistration.k8s.io/v1beta1", kind) for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
)
# Once for all versions in the old form, for each of them in the new one.
_SHARED = {
    "subresources": "subresources",
    "validation": "schema",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def is_older(api_version: str, kind: str) -> bool:
    return (api_version, kind) == _DEFINITION or (api_version, kind) in _SAME_FIELDS


def upgraded(obj: Obj) -> Obj:
    """The object itself, if it is not in such a version."""
    if not is_older(obj["apiVersion"], obj["kind"]):
        return obj
    newer = {**obj, "apiVersion": obj["apiVersion"].replace("v1beta1", "v1")}
    if obj["kind"] == "CustomResourceDefinition" and isinstance(obj.get("spec"), dict):
        newer["spec"] = _definition(obj["spec"])
    return newer


def _definition(old: Obj) -> Obj:
    left_out = ("version", "versions", "conversion", "preserveUnknownFields", *_SHARED)
    spec = {name: value for name, value in old.items() if name not in left_out}
    if old.get("preserveUnknownFields"):
        spec["preserveUnknownFields"] = True
    listed = old.get("versions") or [{"name": old.get("version", ""), "served": True, "storage": True}]
    shared = {new: old[name] for name, new in _SHARED.items() if old.get(name) is not None}
    spec["versions"] = [_columns({**each, **shared}) for each in listed]
    if old.get("conversion") is not None:
        spec["conversion"] = _conversion(old["conversion"])
    return spec


def _columns(version: Obj) -> Obj:
    if not version.get("additionalPrinterColumns"):
        return version
    columns = [
        {"jsonPath" if part == "JSONPath" else part: value for part, value in each.items()}
        for each in version["additionalPrinterColumns"]
    ]
    return {**version, "additionalPrinterColumns": columns}


def _conversion(old: Obj) -> Obj:
    conversion = {"strategy": old.get("strategy", "None")}
    client, reviews = old.get("webhookClientConfig"), old.get("conversionReviewVersions")
    if client is not None or reviews is not None:
        told = {"clientConfig": client, "conversionReviewVersions": reviews}
        conversion["webhook"] = {name: value for name, value in told.items() if value is not None}
    return conversion
