"""Transactions of nft (https://wiki.nftables.org/wiki-nftables/index.php/Atomic_rule_replacement)."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.cni import table
from tiphys.cni.table import Chain, Content

AT = "inet t"
SET = "set { type ipv4_addr ; }"


def test_the_whole_table_in_one_transaction():
    content = Content(
        {"in": Chain(("ip saddr @s accept",), "{ type filter hook input priority 0 ; }"), "x": Chain(())},
        {"s": SET},
        {"s": {"1.1.1.1": ""}},
    )
    assert table.create(AT, content).splitlines() == [
        "add table inet t",
        "delete table inet t",
        "add table inet t",
        "add set inet t s { type ipv4_addr ; }",
        "add chain inet t in { type filter hook input priority 0 ; }",
        "add chain inet t x",
        "add rule inet t in ip saddr @s accept",
        "add element inet t s { 1.1.1.1 }",
    ]


def test_only_what_differs_is_written():
    before = Content({"a": Chain(("x",)), "b": Chain(("y",))}, {"s": SET}, {"s": {"1.1.1.1": "", "1.1.1.2": ""}})
    after = Content(
        {"a": Chain(("x",)), "c": Chain(("z",))}, {"m": "map { type ipv4_addr : verdict ; }"}, {"m": {"1.1.1.1": "goto c"}}
    )
    change = table.change(AT, before, after)
    assert change.text.splitlines() == [
        "add map inet t m { type ipv4_addr : verdict ; }",
        "add chain inet t c",
        "add rule inet t c z",
        "delete element inet t s { 1.1.1.1, 1.1.1.2 }",
        "add element inet t m { 1.1.1.1 : goto c }",
        "flush chain inet t b",
    ]
    assert change.after.splitlines() == ["delete chain inet t b", "delete set inet t s"]


CONTENTS = st.builds(
    lambda chains, elements: Content(
        {name: Chain(tuple(rules)) for name, rules in chains.items()}, {"s": SET}, {"s": elements}
    ),
    st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from(["accept", "drop"]), max_size=2)),
    st.dictionaries(st.sampled_from(["1.1.1.1", "1.1.1.2"]), st.just("")),
)


@given(CONTENTS)
def test_what_is_there_is_not_written_again(content):
    assert table.change(AT, content, content) == table.Change("")
