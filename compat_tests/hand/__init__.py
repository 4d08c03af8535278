"""Tests that have time and faults in hand: ten stories each, with the Java, the Go and no client."""
