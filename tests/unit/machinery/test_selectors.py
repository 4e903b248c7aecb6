import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import selectors
from tiphys.machinery.selectors import parse_fields, parse_labels


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/labels/selector_test.go
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("x==a,y!=b", "x==a,y!=b"),
        ("z , a", "a,z"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x=", "x="),
        ("x= ,z= ", "x=,z="),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x notin (abc,,def)", "x notin (,abc,def)"),
        ("x in (abc,)", "x in (,abc)"),
        ("x>1,y<7", "x>1,y<7"),
        ("in in (notin)", "in in (notin)"),
        ("example.com/x,!y\n", "example.com/x,!y"),
    ],
)
def test_reads_and_spells(text, told):
    assert str(parse_labels(text)) == told
    assert parse_labels(parse_labels(text).__str__()) == parse_labels(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x=a||y=b", 'unable to parse requirement: values[0][x]: Invalid value: "a||y": a valid label must be'),
        ("x==a==b", "found '==', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        (
            "x<a",
            "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
        ),
        ("x in", "unable to parse requirement: found '' expected: '('"),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("x in a", "unable to parse requirement: found 'a' expected: '('"),
        ("x,", "found '', expected: identifier after ','"),
        (",x", "found ',', expected: !, identifier, or 'end of string'"),
        ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("-x", 'unable to parse requirement: <nil>: Invalid value: "-x": name part must consist of'),
    ],
)
def test_refuses(text, told):
    with pytest.raises(ValueError, match="^" + re.escape(told)):
        parse_labels(text)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("", None, True),
        ("x=y", {"x": "y"}, True),
        ("x=y,z=w", {"x": "y"}, False),
        ("x!=y", {}, True),
        ("x!=y", {"x": "y"}, False),
        ("notin=in", {"notin": "in"}, True),
        ("x", {"x": ""}, True),
        ("x", {}, False),
        ("!x", {"x": "1"}, False),
        ("!x", {}, True),
        ("x in (a,b)", {"x": "b"}, True),
        ("x in (a,b)", {}, False),
        ("x notin (a,b)", {}, True),
        ("x notin (a,b)", {"x": "b"}, False),
        ("x=", {"x": ""}, True),
        ("x>1", {"x": "2"}, True),
        ("x>1", {"x": "1"}, False),
        ("x<1", {"x": "-5"}, True),
        ("x<1", {"x": "a"}, False),
        ("x<1", {}, False),
    ],
)
def test_matches(text, labels, matches):
    assert parse_labels(text).matches(labels) is matches


def test_exact():
    assert parse_labels("a=b,c in (d),e in (f,g)").exact("a") == "b"
    assert parse_labels("a=b,c in (d),e in (f,g)").exact("c") == "d"
    assert parse_labels("a=b,c in (d),e in (f,g)").exact("e") is None
    assert parse_labels("a!=b").exact("a") is None


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/helpers_test.go
def test_of_a_label_selector():
    tree = {
        "matchLabels": {"foo": "bar"},
        "matchExpressions": [
            {"key": "baz", "operator": "In", "values": ["qux", "norf"]},
            {"key": "gone", "operator": "DoesNotExist"},
        ],
    }
    selector = selectors.from_tree(tree)
    assert str(selector) == "baz in (norf,qux),foo=bar,!gone"
    assert selector.matches({"foo": "bar", "baz": "norf"})
    assert not selector.matches({"foo": "bar", "baz": "norf", "gone": ""})
    assert selectors.from_tree(selectors.to_tree(selector)) == selector
    assert not selectors.from_tree(None).matches({"a": "b"})
    assert not selectors.from_tree(None).empty
    assert selectors.from_tree({}).empty
    assert selectors.from_tree({}).matches({"a": "b"})
    assert selectors.on_one_line({}) == "<none>"
    with pytest.raises(ValueError, match='"Nope" is not a valid label selector operator'):
        selectors.from_tree({"matchExpressions": [{"key": "a", "operator": "Nope"}]})
    with pytest.raises(ValueError, match="for 'in', 'notin' operators, values set can't be empty"):
        selectors.from_tree({"matchExpressions": [{"key": "a", "operator": "In"}]})


def test_validates_a_label_selector():
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go:60
    tree = {
        "matchLabels": {"a/b/c": "ok", "ok": "-"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["b"]},
            {"key": "", "operator": "nope", "values": ["-"]},
        ],
    }
    told = [str(each) for each in selectors.validate_label_selector(tree, "spec.selector")]
    assert [each.split(" (")[0] for each in told] == [
        'spec.selector.matchLabels: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '
        "'-', '_' or '.', and must start and end with an alphanumeric character",
        'spec.selector.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric '
        "characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' "
        "or 'DoesNotExist'",
        'spec.selector.matchExpressions[2].operator: Invalid value: "nope": not a valid selector operator',
        'spec.selector.matchExpressions[2].key: Invalid value: "": name part must be non-empty',
        "spec.selector.matchExpressions[2].key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', "
        "'_' or '.', and must start and end with an alphanumeric character",
        'spec.selector.matchExpressions[2].values[0]: Invalid value: "-": a valid label must be an empty string or consist of '
        "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ]
    assert selectors.has_invalid_label_value(tree)
    assert len(list(selectors.validate_label_selector(tree, "a", allow_invalid_values=True))) == len(told) - 1


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/fields/selector_test.go
@pytest.mark.parametrize(
    ("text", "terms", "told"),
    [
        ("", (), ""),
        ("x=a", (("x", True, "a"),), "x=a"),
        ("x==a", (("x", True, "a"),), "x=a"),
        ("z!=,x=a", (("x", True, "a"), ("z", False, "")), "x=a,z!="),
        ("x!=a=b", None, "invalid field selector: unescaped character in value: 61"),
        (r"x=a\,b\=c\\", (("x", True, "a,b=c\\"),), r"x=a\,b\=c\\"),
        (",,x=a,", (("x", True, "a"),), "x=a"),
        ("x", None, "invalid selector: 'x'; can't understand 'x'"),
        (r"x=\d", None, r"invalid field selector: invalid escape sequence: \d"),
        ("x=a\\", None, "invalid field selector: invalid escape sequence: \\"),
        ("=", (), ""),
    ],
)
def test_field_selectors(text, terms, told):
    if terms is None:
        with pytest.raises(ValueError, match=re.escape(told) + "$"):
            parse_fields(text)
    else:
        assert parse_fields(text).terms == terms
        assert str(parse_fields(text)) == told


def test_field_selector_matches():
    selector = parse_fields("spec.nodeName=a,status.phase!=Failed")
    assert selector.matches({"spec.nodeName": "a", "status.phase": "Running"}.__getitem__)
    assert not selector.matches({"spec.nodeName": "a", "status.phase": "Failed"}.__getitem__)
    assert selector.exact("spec.nodeName") == "a"
    assert selector.exact("status.phase") is None
    assert str(selector.without("spec.nodeName")) == "status.phase!=Failed"
    assert selector.fields == ("spec.nodeName", "status.phase")


@given(st.lists(st.tuples(st.text("abc./", min_size=1), st.booleans(), st.text())))
def test_field_selectors_read_back(terms):
    selector = selectors.FieldSelector(tuple(terms))
    assert sorted(parse_fields(str(selector)).terms) == sorted(terms)


@given(st.text("abin(),=!<> -/", max_size=12))
def test_any_text_is_a_selector_or_a_value_error(text):
    try:
        selector = parse_labels(text)
    except ValueError:
        return
    assert parse_labels(str(selector)) == selector
