"""Web page that plays runs in a browser."""
