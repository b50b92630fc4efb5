"""Exporters of runs: each module registers the one of its name, which is a command, too.

The first line of its docstring is the help of the command.
"""
