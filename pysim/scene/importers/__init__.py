"""Formats of other programs: each module registers the importer of one, and is found by being here."""
