"""Maps: how items are grouped into tasks, and how results come back."""
