"""Is a kernel right? How outputs are judged, on which inputs and in which stages. Child processes only: imports torch."""
