"""Moving data in and out: bundles and exports of conversations, backups of a data folder."""
