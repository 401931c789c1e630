"""PolyDL's second level (section 4): matrix products whose loops are unrolled by three factors, and searches for the factors."""
