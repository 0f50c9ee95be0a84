-- Schema 1 as released, with data. Never edited: a later program must open it as it is.

-- What the store remembers. Instants are milliseconds since 1970 in UTC.

-- Secrets that all nodes share, such as the key under which challenges are made.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- Whatever expired before this instant may have been forgotten, so it is never spent again.
CREATE TABLE horizon (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    swept_until INTEGER NOT NULL
);
INSERT INTO horizon (one, swept_until) VALUES (1, 0);

-- Challenges and single-use tokens that were spent. The expiry leads, so that new rows go to the end and old ones leave from the front;
-- it is signed together with the name, so the pair is as unique as the name.
CREATE TABLE spent (
    expires_at INTEGER NOT NULL,
    name BLOB NOT NULL,
    PRIMARY KEY (expires_at, name)
) WITHOUT ROWID;

CREATE TABLE keys (
    id BLOB PRIMARY KEY NOT NULL,
    public_key BLOB NOT NULL,
    app TEXT NOT NULL,
    identity TEXT NOT NULL,
    environment TEXT NOT NULL,
    simulated INTEGER NOT NULL,
    user_name TEXT,
    attestation_digest BLOB NOT NULL,
    validation_category INTEGER,
    bundle_version TEXT,
    os_version TEXT,
    attested_at INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    -- Which of the 64 counters up to the highest were accepted, one bit each.
    seen INTEGER NOT NULL,
    largest_gap INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER,
    risk_metric INTEGER,
    -- When the receipt is to be refreshed, who may not do it until when, and how often it failed in a row.
    next_refresh INTEGER,
    leased_until INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    failures INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX keys_by_user ON keys (app, user_name, attested_at) WHERE user_name IS NOT NULL;
CREATE INDEX keys_by_refresh ON keys (next_refresh) WHERE next_refresh IS NOT NULL;
CREATE INDEX keys_by_metric ON keys (app, environment, risk_metric) WHERE risk_metric IS NOT NULL;

CREATE TABLE receipts (
    key_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    not_before INTEGER,
    expires_at INTEGER,
    risk_metric INTEGER,
    PRIMARY KEY (key_id, created_at)
);
CREATE INDEX receipts_by_storing ON receipts (stored_at);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    app TEXT NOT NULL,
    key_id BLOB,
    kind TEXT NOT NULL,
    code TEXT,
    detail TEXT
);
CREATE INDEX events_by_key ON events (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX events_by_time ON events (at);

CREATE TABLE tallies (
    app TEXT NOT NULL,
    hour INTEGER NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (app, hour, kind, code)
) WITHOUT ROWID;

CREATE TABLE promotions (
    promotion TEXT NOT NULL,
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    leased_until INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    note TEXT,
    answer BLOB,
    answered_at INTEGER,
    PRIMARY KEY (promotion, app, subject, transaction_id)
) WITHOUT ROWID;
CREATE INDEX promotions_by_answer ON promotions (answered_at) WHERE answered_at IS NOT NULL;

UPDATE horizon SET swept_until = 1794992800000;
INSERT INTO secrets (name, value) VALUES ('challenge-mac', X'abababababababababababababababababababababababababababababababab');
INSERT INTO spent (expires_at, name) VALUES (1795000300000, X'0133333333333333333333333333333333');
INSERT INTO keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category, bundle_version, os_version, attested_at, counter, seen, largest_gap, last_used_at, revoked_at, risk_metric, next_refresh, leased_until, fence, failures)
VALUES (X'1111111111111111111111111111111111111111111111111111111111111111', X'0411111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111', 'app', 'ABCDE12345.com.example.app', 'production', 0, 'ann', X'4444444444444444444444444444444444444444444444444444444444444444', 4, '1.0', '27.0.1', 1794999999000, 41, -1, 3, 1794999999500, NULL, 2, 1795000000000, 0, 2, 0);
INSERT INTO keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category, bundle_version, os_version, attested_at, counter, seen, largest_gap, last_used_at, revoked_at, risk_metric, next_refresh, leased_until, fence, failures)
VALUES (X'2222222222222222222222222222222222222222222222222222222222222222', X'0422222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222', 'app', 'ABCDE12345.com.example.app', 'development', 1, NULL, X'5555555555555555555555555555555555555555555555555555555555555555', NULL, NULL, NULL, 1794999999000, 0, 1, 0, NULL, 1795000000000, NULL, NULL, 0, 0, 0);
INSERT INTO receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric) VALUES (X'1111111111111111111111111111111111111111111111111111111111111111', 1794999999000, 1794999999000, X'0101', NULL, NULL, NULL);
INSERT INTO receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric) VALUES (X'1111111111111111111111111111111111111111111111111111111111111111', 1794999999500, 1794999999600, X'0202', 1795000000000, 1802776000000, 2);
INSERT INTO events (at, app, key_id, kind, code, detail) VALUES (1794999999000, 'app', X'1111111111111111111111111111111111111111111111111111111111111111', 'attested', NULL, NULL);
INSERT INTO events (at, app, key_id, kind, code, detail) VALUES (1794999999600, 'app', X'1111111111111111111111111111111111111111111111111111111111111111', 'receipt', NULL, NULL);
INSERT INTO tallies (app, hour, kind, code, count) VALUES ('app', 1794999600000, 'attested', '', 12);
INSERT INTO promotions (promotion, app, subject, transaction_id, leased_until, fence, note, answer, answered_at) VALUES ('p', 'app', 's', 't', 1795000000000, 1, NULL, X'07', 1795000000000);
