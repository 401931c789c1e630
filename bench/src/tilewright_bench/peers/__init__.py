"""Peers: the libraries that Tilewright is measured against."""
