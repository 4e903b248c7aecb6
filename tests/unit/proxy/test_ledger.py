"""Parts that come and go, and elements that several of them want."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.proxy.ledger import EMPTY, Ledger, Part


def test_the_first_by_name_has_it():
    ledger = Ledger()
    ledger.put(("default", "b"), Part(elements={"map": {"1.2.3.4": "to b"}}))
    assert ledger.changes().elements == {"map": {"1.2.3.4": (None, "to b")}}
    ledger.put(("default", "a"), Part(elements={"map": {"1.2.3.4": "to a"}}))
    ledger.put(("default", "c"), Part(elements={"map": {"1.2.3.4": "to c"}}))
    assert ledger.changes().elements == {"map": {"1.2.3.4": ("to b", "to a")}}
    ledger.put(("default", "b"), EMPTY)
    assert not ledger.changes()
    ledger.put(("default", "a"), EMPTY)
    assert ledger.changes().elements == {"map": {"1.2.3.4": ("to a", "to c")}}
    ledger.put(("default", "c"), EMPTY)
    assert ledger.changes().elements == {"map": {"1.2.3.4": ("to c", None)}}
    assert not ledger.everything()


def test_there_and_back_is_no_change():
    ledger = Ledger()
    one = Part({"chain": ("accept",)}, elements={"map": {"x": "goto chain"}})
    ledger.put(("default", "a"), one)
    ledger.everything()
    ledger.put(("default", "a"), EMPTY)
    ledger.put(("default", "a"), one)
    assert not ledger.changes()


values = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2"]), max_size=3)
steps = st.tuples(st.sampled_from("abc"), values, st.booleans())


@given(st.lists(steps, max_size=12))
def test_changes_add_up_to_everything(steps):
    """Whatever order parts come and go in, and whenever changes are asked for: who applies them has what is there."""
    ledger, kept, applied = Ledger(), {}, {}
    for name, elements, asked in steps:
        key = ("default", name)
        part = Part({f"chain-{name}": tuple(elements)}, elements={"map": elements}) if elements else EMPTY
        kept[name] = elements
        ledger.put(key, part)
        if not asked:
            continue
        delta = ledger.changes()
        for each, (before, after) in delta.elements.get("map", {}).items():
            assert applied.pop(each, None) == before
            if after is not None:
                applied[each] = after
        expected = {}
        for one in sorted(kept, reverse=True):
            expected.update(kept[one])
        assert applied == expected
    whole = ledger.everything()
    assert whole.chains == {f"chain-{one}": (None, tuple(each)) for one, each in kept.items() if each}
