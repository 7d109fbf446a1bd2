"""What an attacker tries, each line of the threat model one test."""
