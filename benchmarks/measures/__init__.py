"""What is measured, a module a noun: each of its functions takes a `Bench` and yields figures."""
