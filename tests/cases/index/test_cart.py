import pytest
from shop.cart import *


@pytest.fixture(scope="module")
def cart():
    return []


@pytest.fixture
def item(): ...


def test_total(cart):
    """Adds up
    all of it."""
    assert cart == []


@pytest.mark.parametrize("n", [1])
def test_many(n):
    with pytest.raises(ValueError):
        raise ValueError


class TestCart:
    def test_plain(self):
        assert 1 == 1
