"""What lies on the shelves."""


class Stock:
    """Counts by name, with reservations."""

    def __init__(self, counts=None):
        self.counts = dict(counts or {})
        self.reserved = {}

    def available(self, name):
        """How many may still be reserved."""
        return self.counts.get(name, 0) - self.reserved.get(name, 0)

    def reserve(self, name, quantity):
        """Takes `quantity` out of what is available; False if there is not enough."""
        if quantity <= 0:
            raise ValueError("quantity must be positive")
        if name not in self.counts:
            raise KeyError(name)
        if self.available(name) < quantity:
            return False
        self.reserved[name] = self.reserved.get(name, 0) + quantity
        return True

    def release(self, name, quantity):
        """Gives reserved pieces back; never more than were reserved."""
        held = self.reserved.get(name, 0)
        given = quantity if quantity < held else held
        if given == held:
            self.reserved.pop(name, None)
        else:
            self.reserved[name] = held - given
        return given

    def to_order(self, minimum):
        """Names whose count is below `minimum`, with how many are missing."""
        missing = {}
        for name, count in sorted(self.counts.items()):
            if count < minimum:
                missing[name] = minimum - count
        return missing
