"""The order of the stages: findings, candidates, gates, verdict, journal. Nothing else knows it."""
