"""What data a loop nest touches between two uses of an element, exactly: the features of PolyDL's ranking (section 3.1)."""
