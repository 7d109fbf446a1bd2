"""The Model Context Protocol, spoken by the official client."""
