"""Command line: the subcommands of `tilewright`."""
