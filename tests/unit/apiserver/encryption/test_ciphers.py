"""The local ciphers, against published vectors where there are some."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.apiserver.encryption import salsa
from tiphys.apiserver.encryption.ciphers import AesCbc, AesGcm, Broken, SecretBox

KEY = bytes(range(32))
PLACE = b"/registry/secrets/default/one"
CIPHERS = [AesCbc(KEY), AesCbc(KEY[:16]), AesGcm(KEY), AesGcm(KEY[:24]), SecretBox(KEY)]


# "Cryptography in NaCl" (Bernstein, 2009), section 10: the example that tests/secretbox.c of NaCl checks.
def test_secretbox_is_that_of_nacl():
    key = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
    nonce = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
    message = bytes.fromhex(
        "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4"
        "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52"
        "f0a089bc76897040e082f937763848645e0705"
    )
    sealed = bytes.fromhex(
        "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b"
        "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da"
        "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
    )
    assert salsa.seal(key, nonce, message) == sealed
    assert salsa.open_box(key, nonce, sealed) == message


# NIST SP 800-38A, F.2.5 is the first block; the second, of padding (PKCS 7), is what openssl enc -aes-256-cbc adds.
def test_aescbc_is_cbc_with_the_vector_in_front():
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    vector = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    hidden = bytes.fromhex("f58c4c04d6e5f1ba779eabfb5f7bfbd6485a5c81519cf378fa36d42b8547edc0")
    assert AesCbc(key).open(vector + hidden, b"") == bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    with pytest.raises(Broken, match="invalid padding"):
        AesCbc(key).open(vector + hidden[:16], b"")


@pytest.mark.parametrize("cipher", CIPHERS, ids=lambda each: type(each).__name__)
@settings(deadline=None)  # the first call loads numpy
@given(value=st.binary(max_size=400))
def test_what_is_sealed_can_be_opened_and_never_looks_the_same(cipher, value):
    one, other = cipher.seal(value, PLACE), cipher.seal(value, PLACE)
    assert one != other
    assert cipher.open(one, PLACE) == cipher.open(other, PLACE) == value
    assert len(value) < 8 or value not in one


@pytest.mark.parametrize("cipher", [AesGcm(KEY), SecretBox(KEY)], ids=["aesgcm", "secretbox"])
def test_a_changed_value_is_noticed(cipher):
    sealed = bytearray(cipher.seal(b'{"kind":"Secret"}', PLACE))
    sealed[-1] ^= 1
    with pytest.raises(Broken):
        cipher.open(bytes(sealed), PLACE)
    with pytest.raises(Broken, match="shorter than the required size"):
        cipher.open(b"short", PLACE)


# v1.36.4 staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/aes/aes.go:180: the key in etcd is authenticated with it
def test_aesgcm_binds_a_value_to_its_place():
    sealed = AesGcm(KEY).seal(b"{}", PLACE)
    with pytest.raises(Broken, match="message authentication failed"):
        AesGcm(KEY).open(sealed, b"/registry/secrets/kube-system/one")


def test_another_key_does_not_open_it():
    other = bytes(32)
    for cipher, wrong in ((AesGcm(KEY), AesGcm(other)), (SecretBox(KEY), SecretBox(other))):
        with pytest.raises(Broken):
            wrong.open(cipher.seal(b"{}", PLACE), PLACE)
