"""Tables for people: the queue, classes, and how leases were used."""
