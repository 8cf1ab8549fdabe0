"""The gates between an edit and the timing of it, cheap ones first (see `pipeline`)."""
