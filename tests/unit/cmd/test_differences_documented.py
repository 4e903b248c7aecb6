"""A difference that the page does not tell fails here: `python tools/document_differences.py` writes it."""

from pathlib import Path

from tools.document_differences import PAGE, Difference, differences, page


def test_the_page_is_current():
    assert PAGE.read_text() == page()


def test_differences_are_found_where_tests_say_so(tmp_path: Path):
    tests = tmp_path / "tests" / "unit" / "proxy"
    tests.mkdir(parents=True)
    told = '@pytest.mark.differs("does this.", "that, for " "a reason.")\ndef test_that(): ...\ndef test_other(): ...\n'
    (tests / "test_rules.py").write_text(told)
    found = list(differences(tmp_path / "tests"))
    assert found == [Difference("proxy", "tests/unit/proxy/test_rules.py::test_that", "does this.", "that, for a reason.")]
