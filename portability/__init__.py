"""Moving data in and out: bundles of conversations, imports of exported files, backups of a data folder."""
