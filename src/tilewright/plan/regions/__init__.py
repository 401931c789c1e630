"""Regions: which elements each operator of a schedule computes, reads and keeps. No machine, no price."""
