"""MutatingWebhookConfiguration: servers that may change a write."""

from tiphys.api.admissionregistration.rules import GROUP, static_suffix_warnings
from tiphys.api.admissionregistration.webhooks import COLUMNS, GENERATION_OF, default_webhooks, validate_webhooks
from tiphys.api.kind import Kind, Strategy
from tiphys.machinery.tree import Obj


def default(configuration: Obj) -> None:
    default_webhooks(configuration)
    for webhook in configuration.get("webhooks") or ():
        if webhook.get("reinvocationPolicy") is None:
            webhook["reinvocationPolicy"] = "Never"


MUTATING_WEBHOOK_CONFIGURATIONS = Kind(
    group=GROUP,
    version="v1",
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    singular="mutatingwebhookconfiguration",
    schema="io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
    namespaced=False,
    categories=("api-extensions",),
    default=default,
    validate=validate_webhooks,
    warnings=static_suffix_warnings,
    strategy=Strategy(generation_of=GENERATION_OF, unconditional_update=False),
    columns=COLUMNS,
)
