"""admissionregistration.k8s.io/v1: who else looks at a write before it is stored."""

from tiphys.api.admissionregistration.mutatingadmissionpolicies import MUTATING_ADMISSION_POLICIES
from tiphys.api.admissionregistration.mutatingadmissionpolicybindings import MUTATING_ADMISSION_POLICY_BINDINGS
from tiphys.api.admissionregistration.mutatingwebhookconfigurations import MUTATING_WEBHOOK_CONFIGURATIONS
from tiphys.api.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES
from tiphys.api.admissionregistration.validatingadmissionpolicybindings import VALIDATING_ADMISSION_POLICY_BINDINGS
from tiphys.api.admissionregistration.validatingwebhookconfigurations import VALIDATING_WEBHOOK_CONFIGURATIONS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (
    MUTATING_ADMISSION_POLICIES,
    MUTATING_ADMISSION_POLICY_BINDINGS,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
