"""AlwaysAdmit and AlwaysDeny: plugins that do not look at what is written. Both are deprecated; some still name them."""

from tiphys.apiserver.admission.chain import EVERYTHING, Attributes


class AlwaysAdmit:
    name = "AlwaysAdmit"
    operations = EVERYTHING
    resources = None

    def admit(self, attributes: Attributes) -> None:
        """Whatever it is."""

    def validate(self, attributes: Attributes) -> None:
        """Whatever it is."""


class AlwaysDeny:
    name = "AlwaysDeny"
    operations = EVERYTHING
    resources = None

    def admit(self, attributes: Attributes) -> None:
        raise attributes.forbidden("admission control is denying all modifications")

    def validate(self, attributes: Attributes) -> None:
        raise attributes.forbidden("admission control is denying all modifications")
