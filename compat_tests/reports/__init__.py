"""The offset report as users see it, numbers and page."""
