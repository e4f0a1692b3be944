"""A plain torch EAGLE-3 decoder behind the HTTP dialect of SGLang: slow, exact, runs on a CPU."""
