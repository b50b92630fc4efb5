"""Many worlds: held by hand, or rolled out in one call, of one scene or with numbers of their own."""
