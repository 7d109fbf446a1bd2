"""What administrators see and change: people and their quotas, the audit log, jobs, the health of the server."""
