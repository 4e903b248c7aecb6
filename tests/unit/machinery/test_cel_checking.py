"""What cannot be is found out before there are values. The words are those of a live v1.36.4 kube-apiserver (cel-go 0.26)."""

import pytest

from tiphys.machinery.cel import Unsound, check, compiled
from tiphys.machinery.cel.checking import BOOL, DYN, INT, STRING, Type, list_of, map_of

OBJECT = Type("example.Thing", (), {"name": STRING, "size": INT, "parts": list_of(STRING), "more": map_of(STRING, INT)})
SCOPE = {"thing": Type("example.Whole", (), {"inner": OBJECT, "any": DYN})}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thing.inner.name", STRING),
        ("thing.any.whatever[0] + 1", DYN),
        ("thing.inner.size + 1", INT),
        ("thing.inner.size < 1.5", BOOL),
        ("thing.inner.parts.map(each, each.startsWith('a'))", list_of(BOOL)),
        ("thing.inner.parts.filter(each, each != '')[0]", STRING),
        ("thing.inner.more['a'] in [1, 2]", BOOL),
        ("thing.inner == null", BOOL),
        ("thing.?inner.name", Type("optional_type", (STRING,))),
        ("thing.?inner.name.orValue('')", STRING),
        ("thing.inner.name.split(',')", list_of(STRING)),
        ("{'a': 1}", map_of(STRING, INT)),
        ("cel.bind(x, thing.inner.size, x * 2)", INT),
        ("true ? thing.inner.name : 'none'", STRING),
    ],
)
def test_types(text, expected):
    assert check(text, SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "at", "told"),
    [
        ("thing.foo", 6, "undefined field 'foo'"),
        ("has(thing.foo)", 4, "undefined field 'foo'"),
        ("other", 1, "undeclared reference to 'other' (in container '')"),
        ("thing.inner.name.shout()", 23, "undeclared reference to 'shout' (in container '')"),
        ("thing.inner.name == 1", 18, "found no matching overload for '_==_' applied to '(string, int)'"),
        ("1 in thing.inner.parts", 3, "found no matching overload for '@in' applied to '(int, list(string))'"),
        ("thing.inner.name && true", 12, "expected type 'bool' but found 'string'"),
        ("!thing.inner.name", 1, "found no matching overload for '!_' applied to '(string)'"),
        ("[1, 'a']", 5, "expected type 'int' but found 'string'"),
        ("thing.inner.parts['a']", 18, "found no matching overload for '_[_]' applied to '(list(string), string)'"),
    ],
)
def test_what_cannot_be(text, at, told):
    with pytest.raises(Unsound) as refused:
        check(text, SCOPE)
    assert str(refused.value) == f"ERROR: <input>:1:{at}: {told}\n | {text}\n | {'.' * (at - 1)}^"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.?b.c.orValue('none')", "here"),
        ("a.?x.c.orValue('none')", "none"),
        ("a.?b.x.hasValue()", False),
        ("a.?b.c.value()", "here"),
        ("has(a.b.c) && !has(a.b.x)", True),
    ],
)
def test_what_may_be_there(text, expected):
    assert compiled(text)({"a": {"b": {"c": "here"}}}) == expected
