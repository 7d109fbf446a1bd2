"""The Model Context Protocol: other programs call our tools and read conversations, memories and documents."""
