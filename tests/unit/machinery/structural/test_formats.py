"""Formats of strings. v1.36.4 vendor/k8s.io/kube-openapi/pkg/validation/strfmt; the list is
apiextensions-apiserver/pkg/apiserver/validation/formats.go."""

import pytest

from tiphys.machinery.structural.formats import FORMATS

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": ["http://example.com/a?b", "/path"],
    "email": ["a@example.com"],
    "hostname": ["example.com", "a-b.c"],
    "ipv4": ["10.0.0.1"],
    "ipv6": ["::1"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/8", "fd00::/64"],
    "mac": ["00:00:5e:00:53:01", "0000.5e00.5301"],
    "uuid": ["c3c13420-1d1b-4d0b-9e3b-0d4c3c3c1342", "C3C134201D1B4D0B9E3B0D4C3C3C1342"],
    "uuid3": ["c3c13420-1d1b-3d0b-1e3b-0d4c3c3c1342"],
    "uuid4": ["c3c13420-1d1b-4d0b-9e3b-0d4c3c3c1342"],
    "uuid5": ["c3c13420-1d1b-5d0b-9e3b-0d4c3c3c1342"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111-1111-1111-1111"],
    "ssn": ["111-11-1111"],
    "hexcolor": ["#FFFFFF", "fff"],
    "rgbcolor": ["rgb(255,255,255)"],
    "byte": ["", "AAAA"],
    "password": ["", "anything"],
    "date": ["2006-01-02"],
    "duration": ["22 ns", "1h30m", "3 weeks"],
    "datetime": ["2014-12-15T19:30:20Z", "2014-12-15T19:30:20.000+01:00"],
    "k8sshortname": ["a-b"],
    "k8slongname": ["a-b.c"],
}
BAD = {
    "bsonobjectid": ["507f"],
    "uri": ["", "a b", "plain"],
    "email": ["example.com"],
    "hostname": ["-a", "a..b"],
    "ipv4": ["::1", "10.0.0"],
    "ipv6": ["10.0.0.1"],
    "cidr": ["10.0.0.0"],
    "mac": ["00:00"],
    "uuid": ["c3c13420"],
    "uuid3": ["c3c13420-1d1b-4d0b-9e3b-0d4c3c3c1342"],
    "uuid4": ["c3c13420-1d1b-4d0b-1e3b-0d4c3c3c1342"],
    "uuid5": ["c3c13420-1d1b-4d0b-9e3b-0d4c3c3c1342"],
    "isbn": ["1"],
    "isbn10": ["0321751044"],
    "isbn13": ["978-0321751042"],
    "creditcard": ["4111-1111-1111-1112"],
    "ssn": ["1"],
    "hexcolor": ["#FF"],
    "rgbcolor": ["rgb(256,0,0)"],
    "byte": ["A"],
    "date": ["2006-13-02"],
    "duration": ["soon"],
    "datetime": ["yesterday"],
    "k8sshortname": ["a.b", "A"],
    "k8slongname": ["A"],
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_format_takes_what_it_should_and_nothing_else(name):
    check = FORMATS[name]
    assert [each for each in GOOD[name] if not check(each)] == []
    assert [each for each in BAD.get(name, ()) if check(each)] == []
