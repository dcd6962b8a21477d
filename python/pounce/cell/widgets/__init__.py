"""Widgets that cells made on a worker: what the page sends to them goes there."""
