"""Images: resizing, sampling, regions and boxes, blocks of pixels."""
