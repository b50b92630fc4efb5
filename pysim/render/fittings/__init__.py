"""What joins bodies in a picture: springs, dampers, rods, ropes, pins, guides and supports."""
