"""What a release consists of, built into `dist/`."""
