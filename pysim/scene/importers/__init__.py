"""Importers of other programs' formats: each module of this package registers one and is imported automatically."""
