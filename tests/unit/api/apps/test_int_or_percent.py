import pytest

from tiphys.api.apps import int_or_percent


# v1.36.4 pkg/apis/apps/validation/validation.go:547 (ValidatePositiveIntOrPercent), :573 (getIntOrPercentValue)
@pytest.mark.parametrize(
    ("value", "amount", "problems"),
    [
        (3, 3, []),
        (-1, -1, ["Invalid value: -1: must be greater than or equal to 0"]),
        ("25%", 25, []),
        ("101%", 101, ['Invalid value: "101%": must not be greater than 100%']),
        ("5", 5, ["a valid percent string"]),
        ("x", 0, ["a valid percent string"]),
    ],
)
def test_values(value, amount, problems):
    assert int_or_percent.amount(value) == amount
    found = [*int_or_percent.validate(value, "at"), *int_or_percent.at_most_all(value, "at")]
    assert len(found) == len(problems)
    assert all(problem in str(each) for each, problem in zip(found, problems, strict=True))
