"""Authority: https://protobuf.dev/programming-guides/proto3/ and https://protobuf.dev/programming-guides/encoding/"""

import pytest

from tiphys.base.protos import ProtoError, load

TEXT = """
syntax = "proto3";
// A comment; with "quotes".
package shop.v1;
option go_package = "example.com/shop";

message Order {
  reserved 20, 30 to 32;
  string id = 1;
  repeated Item items = 2 [deprecated = true];
  map<string, Item.Size> sizes = 3;
  oneof payment {
    bytes card = 4;
    int64 cash = 5;
  }
  optional int32 discount = 6;
  /* Nested,
     and refers to its parent. */
  message Item {
    enum Size { UNKNOWN = 0; SMALL = 1; TINY = 1; ODD = -1; }
    Size size = 1;
    Order gift = 2;
  }
  .shop.v1.Order parent = 0x7;
  map<int32, string> notes = 8;
}

service Shop {
  rpc Buy(Order) returns (Order.Item) {}
  rpc Follow(stream Order) returns (stream shop.v1.Order);
}
"""


@pytest.fixture(scope="module")
def shop():
    return load(TEXT, "shop.proto")


def test_messages_are_encoded_as_the_wire_format_says(shop):
    # https://protobuf.dev/programming-guides/encoding/: tag = number << 3 | wire type
    order = shop["Order"](id="a", cash=1, discount=0)
    assert order.SerializeToString() == b"\x0a\x01a" + b"\x28\x01" + b"\x30\x00"


def test_round_trip_of_everything(shop):
    item = shop["Order.Item"](size=1)
    order = shop["Order"](id="a", items=[item], sizes={"x": -1}, card=b"c", notes={3: "n"}, parent={"id": "b"})
    assert shop["Order"].FromString(order.SerializeToString()) == order


def test_a_oneof_holds_one_field_and_an_optional_one_knows_its_presence(shop):
    order = shop["Order"](cash=5)
    assert order.WhichOneof("payment") == "cash"
    order.card = b"x"
    assert order.WhichOneof("payment") == "card"
    assert not order.HasField("discount")
    order.discount = 0
    assert order.HasField("discount")


def test_enums_with_aliases_and_negative_values(shop):
    assert shop.enums["Order.Item.Size"] == {"UNKNOWN": 0, "SMALL": 1, "TINY": 1, "ODD": -1}


def test_methods_have_the_path_and_the_streaming_of_grpc(shop):
    buy, follow = shop.services["Shop"]["Buy"], shop.services["Shop"]["Follow"]
    assert (buy.path, buy.request, buy.response) == ("/shop.v1.Shop/Buy", shop["Order"], shop["Order.Item"])
    assert (buy.client_streaming, buy.server_streaming) == (False, False)
    assert (follow.client_streaming, follow.server_streaming, follow.response) == (True, True, shop["Order"])


def test_the_same_package_can_be_described_twice(shop):
    other = load('syntax = "proto3"; package shop.v1; message Order { int32 other = 1; }')
    assert other["Order"](other=1).SerializeToString() == b"\x08\x01"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('syntax = "proto2";', "line 1: only proto3 is read"),
        ('syntax = "proto3";\nmessage M { Nowhere x = 1; }', "Nowhere is not defined"),
        ('syntax = "proto3";\nmessage M { string x = ; }', "line 2: a number was expected"),
        ('syntax = "proto3";\nmessage M {\n string x 1; }', "line 3: '=' was expected"),
        ('syntax = "proto3";\nmessage M { string x = 1;', "unexpected end"),
        ('import "other.proto";', "unexpected 'import'"),
        ('syntax = "proto3"; message M { string x = 1; string y = 1; }', "inline.proto"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text, told):
    with pytest.raises(ProtoError, match=told):
        load(text)
