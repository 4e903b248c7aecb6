"""Label and field selectors: from the text of a request, from a LabelSelector in an object, and what they match."""

from tiphys.machinery.selectors.fields import ANY_FIELD, FieldSelector, escape, parse_fields
from tiphys.machinery.selectors.labels import (
    EVERYTHING,
    NOTHING,
    Operator,
    Requirement,
    Selector,
    from_labels,
    from_tree,
    has_invalid_label_value,
    on_one_line,
    to_tree,
    validate_label_selector,
)
from tiphys.machinery.selectors.text import parse_labels

__all__ = [
    "ANY_FIELD",
    "EVERYTHING",
    "NOTHING",
    "FieldSelector",
    "Operator",
    "Requirement",
    "Selector",
    "escape",
    "from_labels",
    "from_tree",
    "has_invalid_label_value",
    "on_one_line",
    "parse_fields",
    "parse_labels",
    "to_tree",
    "validate_label_selector",
]
