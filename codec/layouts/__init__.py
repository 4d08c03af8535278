"""Every binary layout, declared once with construct: documentation, inspector and test oracle."""
