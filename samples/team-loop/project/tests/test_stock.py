from orders.stock import Stock


def test_unknown_names_are_not_available():
    assert Stock({"apple": 3}).available("pear") == 0
