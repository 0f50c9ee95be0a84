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
