"""A cart."""
from __future__ import annotations
import decimal as d
from .money import Money, round_up as up
from . import tax


class Item:
    name: str
    price: Money = None
    kind = "plain"

    @property
    def total(self, *, net: bool = False) -> Money:
        def inner(): return 1
        return self.price

    class Meta:
        ordered = True


if True:
    def branch(): pass
else:
    def branch(x): pass


async def fetch(
    url,  # where
    *args,
): ...
