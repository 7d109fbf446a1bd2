"""What happens when much happens at once, or when everything ends in the middle."""
