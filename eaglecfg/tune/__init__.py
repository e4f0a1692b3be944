"""The study: launch, measure, remember, suggest, decide."""
