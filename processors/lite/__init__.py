"""Lite topics: subscribing to them, popping them, and the questions of operators about them."""
