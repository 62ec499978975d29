import pytest


def helper():
    return 1


def test_without_assert():
    helper()  # assert nothing at all
    "assert in a text"


def test_constant():
    assert True
    assert 1


def test_tautology():
    a = helper()
    assert a or not a


def test_raises():
    with pytest.raises(ValueError):
        raise ValueError


def test_good():
    assert helper() == 1


class TestGroup:
    def test_method_without(self):
        helper()

    def test_method_with(self):
        self.assertEqual(helper(), 1)
