"""The `trimq` command line: one file per subcommand, thin."""
