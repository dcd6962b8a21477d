"""What programs on a worker report: read from its pipe, and passed on (docs/reports.md)."""
