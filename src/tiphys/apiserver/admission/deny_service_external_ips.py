"""DenyServiceExternalIPs: nobody may claim addresses of others for a Service any more; what is there stays."""

from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes, Resources


class DenyServiceExternalIPs:
    name = "DenyServiceExternalIPs"
    operations = CREATE_UPDATE
    resources: Resources = frozenset((("", "services"),))

    def validate(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.subresource:
            return
        asked = attributes.obj["spec"].get("externalIPs") or ()
        present = (attributes.old or {"spec": {}})["spec"].get("externalIPs") or ()
        if not set(asked) <= set(present):
            raise attributes.forbidden("Use of external IPs is denied by admission control")
