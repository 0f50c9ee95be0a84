-- Operators' verbs, promotions that are granted once, keys of challenges that change, and a clock that cannot run away.
--
-- A running node of the first version looks at the schema only when it starts. So every table gets a new name here, and a view that
-- can only be read takes the old one: whatever an old node writes from now on fails, also its check of readiness. What reads stays
-- right.

ALTER TABLE secrets RENAME TO store_secrets;
ALTER TABLE horizon RENAME TO store_clock;
ALTER TABLE spent RENAME TO spent_names;
ALTER TABLE keys RENAME TO attested_keys;
ALTER TABLE receipts RENAME TO key_receipts;
ALTER TABLE events RENAME TO key_events;
ALTER TABLE tallies RENAME TO hourly_tallies;
ALTER TABLE promotions RENAME TO promotion_claims;

CREATE VIEW secrets AS SELECT name, value FROM store_secrets{read-only};
CREATE VIEW horizon AS SELECT one, swept_until FROM store_clock{read-only};
CREATE VIEW spent AS SELECT expires_at, name FROM spent_names{read-only};
CREATE VIEW keys AS
SELECT id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category,
bundle_version, os_version, attested_at, counter, seen, largest_gap, last_used_at, revoked_at, risk_metric, next_refresh, leased_until, fence, failures
FROM attested_keys{read-only};
CREATE VIEW receipts AS SELECT key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric FROM key_receipts{read-only};
CREATE VIEW events AS SELECT id, at, app, key_id, kind, code, detail FROM key_events{read-only};
CREATE VIEW tallies AS SELECT app, hour, kind, code, count FROM hourly_tallies{read-only};
CREATE VIEW promotions AS
SELECT promotion, app, subject, transaction_id, leased_until, fence, note, answer, answered_at
FROM promotion_claims{read-only};

-- Changed by every check of readiness, so that a disk that is full or frozen is noticed.
CREATE TABLE store_checks (
    one {integer} PRIMARY KEY CHECK (one = 1),
    count {integer} NOT NULL
);
INSERT INTO store_checks (one, count) VALUES (1, 0);

-- Keys are listed in this order; it also answers how many there are of a kind.
CREATE INDEX keys_by_kind ON attested_keys (environment, app, id, simulated, revoked_at);
CREATE INDEX keys_by_user_name ON attested_keys (user_name, id) WHERE user_name IS NOT NULL;

-- When a newer receipt came. A sweep looks only at rows that have been superseded.
ALTER TABLE key_receipts ADD COLUMN superseded_at {integer};
UPDATE key_receipts SET superseded_at = stored_at WHERE EXISTS
(SELECT 1 FROM key_receipts AS newer WHERE newer.key_id = key_receipts.key_id AND newer.created_at > key_receipts.created_at);
DROP INDEX receipts_by_storing;
CREATE INDEX receipts_by_superseding ON key_receipts (stored_at) WHERE superseded_at IS NOT NULL;

-- The SHA-256 of the two device tokens for which the note was left.
ALTER TABLE promotion_claims ADD COLUMN note_tokens {bytes};
CREATE INDEX promotions_by_lease ON promotion_claims (leased_until) WHERE answered_at IS NULL;

-- Who decides a claim of a subject now, and when the subject was granted the promotion.
CREATE TABLE promotion_holders (
    promotion TEXT NOT NULL,
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    leased_until {integer} NOT NULL,
    granted_at {integer},
    PRIMARY KEY (promotion, app, subject)
){by-key};
CREATE INDEX holders_by_lease ON promotion_holders (leased_until) WHERE granted_at IS NULL;
CREATE INDEX holders_by_grant ON promotion_holders (promotion, granted_at) WHERE granted_at IS NOT NULL;
INSERT INTO promotion_holders (promotion, app, subject, transaction_id, leased_until, granted_at)
SELECT promotion, app, subject, min(transaction_id), 0, max(answered_at) FROM promotion_claims
WHERE subject <> 'server' AND {place-of-grant} > 0
GROUP BY promotion, app, subject;

-- The keys under which challenges are made. The newest whose time has come signs; older ones are accepted until an instant.
CREATE TABLE challenge_keys (
    generation {integer} PRIMARY KEY NOT NULL,
    value {bytes} NOT NULL,
    created_at {integer} NOT NULL,
    signs_from {integer} NOT NULL,
    accepted_until {integer}
);
INSERT INTO challenge_keys (generation, value, created_at, signs_from)
SELECT 1, value, 0, 0 FROM store_secrets WHERE name = 'challenge-mac';

-- What operators and backends did. Rows are added and never changed.
CREATE TABLE audit_entries (
    id {integer} PRIMARY KEY NOT NULL,
    at {integer} NOT NULL,
    name TEXT NOT NULL,
    operation TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit_entries (at);
-- The last number that was given; its row is locked up to the commit, so numbers become visible in their order.
CREATE TABLE audit_numbers (
    one {integer} PRIMARY KEY CHECK (one = 1),
    last {integer} NOT NULL
);
INSERT INTO audit_numbers (one, last) VALUES (1, 0);
