"""Reading order lines such as `apple x 3 @ 120`."""


class LineError(ValueError):
    """A line that cannot be read; says which one."""

    def __init__(self, number, reason):
        super().__init__(f"line {number}: {reason}")
        self.number = number
        self.reason = reason


def parse_line(text, number=1):
    """`name x quantity @ price` as `(name, quantity, price)`; the quantity may be left out."""
    if "@" not in text:
        raise LineError(number, "no price")
    left, price = text.rsplit("@", 1)
    name, separator, quantity = left.partition(" x ")
    name = name.strip()
    if not name:
        raise LineError(number, "no name")
    if not separator:
        quantity = "1"
    try:
        values = int(quantity), int(price)
    except ValueError:
        raise LineError(number, "not a number") from None
    if values[0] <= 0 or values[1] < 0:
        raise LineError(number, "out of range")
    return name, values[0], values[1]


def parse_order(text):
    """All lines of an order; blank lines and `#` remarks are left out."""
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        lines.append(parse_line(line, number))
    return lines


def merge(lines):
    """One entry per name; the later price wins, quantities add up."""
    merged = {}
    for name, quantity, price in lines:
        if name in merged:
            quantity += merged[name][0]
        merged[name] = (quantity, price)
    return merged
