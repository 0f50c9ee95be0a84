-- Revoked keys that were deleted stay refused, and keys that were restored say so.
--
-- A node of schema 4 would register a deleted revoked key again, so it is no longer ready beside this one (its readiness compares the schema);
-- what it still writes can be read.

-- A hash of the key's id, and the day of its revocation: no name, and nothing that leads to one.
CREATE TABLE key_tombstones (
    name {bytes} PRIMARY KEY NOT NULL,
    revoked_on {integer} NOT NULL
){by-key};
CREATE INDEX tombstones_by_day ON key_tombstones (revoked_on);

ALTER TABLE attested_keys ADD COLUMN restored_at {integer};

-- Finds what was revoked lately, for the list of revoked keys.
CREATE INDEX keys_by_revocation ON attested_keys (revoked_at) WHERE revoked_at IS NOT NULL;
