"""ValidatingWebhookConfiguration: servers that may refuse a write."""

from tiphys.api.admissionregistration.rules import GROUP, static_suffix_warnings
from tiphys.api.admissionregistration.webhooks import COLUMNS, GENERATION_OF, default_webhooks, validate_webhooks
from tiphys.api.kind import Kind, Strategy

VALIDATING_WEBHOOK_CONFIGURATIONS = Kind(
    group=GROUP,
    version="v1",
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    singular="validatingwebhookconfiguration",
    schema="io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
    namespaced=False,
    categories=("api-extensions",),
    default=default_webhooks,
    validate=validate_webhooks,
    warnings=static_suffix_warnings,
    strategy=Strategy(generation_of=GENERATION_OF, unconditional_update=False),
    columns=COLUMNS,
)
