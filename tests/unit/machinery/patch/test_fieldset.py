"""Sets of fields behave as sets of paths. Authority: v1.36.4 vendor/sigs.k8s.io/structured-merge-diff/v6/fieldpath."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.patch import fieldset

ELEMENTS = ["f:a", "f:b", 'k:{"n":1}', 'v:"x"']
PATHS = st.frozensets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple), max_size=8)


def build(members):
    root = {}
    for path in sorted(members):
        level = root
        for element in path[:-1]:
            level = level.setdefault(element, {})
        level.setdefault(path[-1], {})["."] = {}
    return fieldset.parse(root)


def members_of(fields, prefix=()):
    found = set()
    for element, below in fields.items():
        if element != ".":
            if not below or "." in below:
                found.add((*prefix, element))
            found |= members_of(below, (*prefix, element))
    return found


@given(PATHS)
def test_round_trip(members):
    fields = build(members)
    assert members_of(fields) == members
    assert fieldset.parse(fields) == fields
    assert len(list(fieldset.paths(fields))) == len(members)


@given(PATHS, PATHS)
def test_algebra(one, other):
    mine, theirs = build(one), build(other)
    assert fieldset.union(mine, theirs) == build(one | other)
    assert fieldset.minus(mine, theirs) == build(one - other)
    assert fieldset.meet(mine, theirs) == build(one & other)
    kept = {path for path in one if not any(path[: len(each)] == each for each in other)}
    assert members_of(fieldset.without_below(mine, theirs)) == kept
    # In canonical order throughout, and the arguments stay what they were.
    assert str(fieldset.union(mine, theirs)) == str(fieldset.parse(fieldset.union(mine, theirs)))
    assert (members_of(mine), members_of(theirs)) == (one, other)


@given(PATHS, PATHS)
def test_what_does_not_change_is_the_same(one, other):
    mine = build(one)
    assert fieldset.minus(mine, build(other - one)) is mine
    assert fieldset.union(mine, mine) is mine


def test_order():
    # fieldpath/element.go Compare: fields, keys, values, indices; values by type, numbers by size.
    elements = ["i:10", "i:9", 'v:"a"', "v:10", "v:9", "v:true", 'k:{"p":80}', 'k:{"p":443}', 'k:{"n":"b"}', "f:b", "f:a"]
    assert list(fieldset.parse({element: {} for element in elements})) == [
        "f:a",
        "f:b",
        'k:{"n":"b"}',
        'k:{"p":80}',
        'k:{"p":443}',
        "v:9",
        "v:10",
        'v:"a"',
        "v:true",
        "i:9",
        "i:10",
    ]


def test_elements_are_canonical():
    parsed = fieldset.parse({'k:{"b": 1, "a": "<x>"}': {}, "z:unknown": {}, "f:x": {".": {}}})
    assert parsed == {"f:x": {}, 'k:{"a":"\\u003cx\\u003e","b":1}': {}}


@pytest.mark.parametrize("bad", [{"": {}}, {"fx": {}}, {"v:[": {}}, {"f:x": []}, {"k:1": {}}, {"i:x": {}}])
def test_bad_fields(bad):
    with pytest.raises(ValueError):  # noqa: PT011 - json's and int's own count as well
        fieldset.parse(bad)


def test_paths_are_told_as_upstream_tells_them():
    # fieldpath/set.go iteratePrefix: the members of a level before what is below it.
    fields = {"f:a": {"f:x": {}}, "f:b": {".": {}, 'k:{"n":"q","p":80}': {"v:true": {}}}, "i:3": {}}
    assert list(fieldset.paths(fields)) == [".b", "[3]", ".a.x", '.b[n="q",p=80][=true]']
