"""Images: resampling, regions of interest, and moves between channels and pixels."""
