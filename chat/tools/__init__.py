"""What models and other programs may call: functions over a person's conversations, memories and documents."""
