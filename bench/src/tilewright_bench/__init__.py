"""The benchmark of Tilewright: cases, peers and tables, as the command `tilewright bench`."""
