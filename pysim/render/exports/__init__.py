"""Files that other programs play: pages for browsers, glTF, universal scene description."""
