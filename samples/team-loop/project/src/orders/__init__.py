"""A small order desk: prices, order lines and stock."""
