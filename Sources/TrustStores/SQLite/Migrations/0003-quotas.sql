-- What of each quota was used in the window that is open.
--
-- Nodes of schema 2 need no fence beyond their readiness, which compares the schema: they know no quota, so what they write cannot be wrong here,
-- and they refuse every request that names one.

-- The name is a hash of quota and subject. A window begins with its first use.
CREATE TABLE quota_windows (
    name BLOB PRIMARY KEY NOT NULL,
    ends_at INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX quotas_by_end ON quota_windows (ends_at);
