"""Tilewright as a contender, one module per benchmark."""
