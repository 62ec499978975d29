"""Prices in cents: discounts, shipping and totals."""


def discount_percent(quantity, member=False):
    """Discount for one order line."""
    if quantity <= 0:
        raise ValueError("quantity must be positive")
    if quantity >= 100:
        percent = 15
    elif quantity >= 10:
        percent = 5
    else:
        percent = 0
    if member:
        percent += 2
    return percent


def shipping(total, country="CN", express=False):
    """Shipping cost in cents for an order of `total` cents."""
    if total >= 20_000 and not express:
        return 0
    cost = 800 if country == "CN" else 2_500
    if express:
        cost *= 2
    return cost


def order_total(lines, member=False, country="CN"):
    """Sum of `(unit price, quantity)` lines with discounts and shipping."""
    total = 0
    for price, quantity in lines:
        percent = discount_percent(quantity, member)
        total += price * quantity * (100 - percent) // 100
    if not lines:
        return 0
    return total + shipping(total, country)
