"""Being written by the second reader (see READER_NOTE in plan)."""
