-- What of each quota was used in the window that is open.
--
-- Nodes of schema 2 need no fence beyond their readiness, which compares the schema: they know no quota, so what they write cannot be wrong here,
-- and they refuse every request that names one.

-- The name is a hash of quota and subject. A window begins with its first use.
CREATE TABLE quota_windows (
    name {bytes} PRIMARY KEY NOT NULL,
    ends_at {integer} NOT NULL,
    used {integer} NOT NULL
){by-key};
CREATE INDEX quotas_by_end ON quota_windows (ends_at);
