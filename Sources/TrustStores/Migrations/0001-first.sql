-- What the store remembers. Instants are milliseconds since 1970 in UTC.

-- Secrets that all nodes share, such as the key under which challenges are made.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY NOT NULL,
    value {bytes} NOT NULL
){by-key};

-- Whatever expired before this instant may have been forgotten, so it is never spent again.
CREATE TABLE horizon (
    one {integer} PRIMARY KEY CHECK (one = 1),
    swept_until {integer} NOT NULL
);
INSERT INTO horizon (one, swept_until) VALUES (1, 0);

-- Challenges and single-use tokens that were spent. The expiry leads, so that new rows go to the end and old ones leave from the front;
-- it is signed together with the name, so the pair is as unique as the name.
CREATE TABLE spent (
    expires_at {integer} NOT NULL,
    name {bytes} NOT NULL,
    PRIMARY KEY (expires_at, name)
){by-key};

CREATE TABLE keys (
    id {bytes} PRIMARY KEY NOT NULL,
    public_key {bytes} NOT NULL,
    app TEXT NOT NULL,
    identity TEXT NOT NULL,
    environment TEXT NOT NULL,
    simulated {integer} NOT NULL,
    user_name TEXT,
    attestation_digest {bytes} NOT NULL,
    validation_category {integer},
    bundle_version TEXT,
    os_version TEXT,
    attested_at {integer} NOT NULL,
    counter {integer} NOT NULL,
    -- Which of the 64 counters up to the highest were accepted, one bit each.
    seen {integer} NOT NULL,
    largest_gap {integer} NOT NULL,
    last_used_at {integer},
    revoked_at {integer},
    risk_metric {integer},
    -- When the receipt is to be refreshed, who may not do it until when, and how often it failed in a row.
    next_refresh {integer},
    leased_until {integer} NOT NULL,
    fence {integer} NOT NULL,
    failures {integer} NOT NULL
){by-key-with-room};
CREATE INDEX keys_by_user ON keys (app, user_name, attested_at) WHERE user_name IS NOT NULL;
CREATE INDEX keys_by_refresh ON keys (next_refresh) WHERE next_refresh IS NOT NULL;
CREATE INDEX keys_by_metric ON keys (app, environment, risk_metric) WHERE risk_metric IS NOT NULL;

CREATE TABLE receipts (
    key_id {bytes} NOT NULL,
    created_at {integer} NOT NULL,
    stored_at {integer} NOT NULL,
    bytes {bytes} NOT NULL,
    not_before {integer},
    expires_at {integer},
    risk_metric {integer},
    PRIMARY KEY (key_id, created_at)
);
CREATE INDEX receipts_by_storing ON receipts (stored_at);

CREATE TABLE events (
    id {serial},
    at {integer} NOT NULL,
    app TEXT NOT NULL,
    key_id {bytes},
    kind TEXT NOT NULL,
    code TEXT,
    detail TEXT
);
CREATE INDEX events_by_key ON events (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX events_by_time ON events (at);

CREATE TABLE tallies (
    app TEXT NOT NULL,
    hour {integer} NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    count {integer} NOT NULL,
    PRIMARY KEY (app, hour, kind, code)
){by-key};

CREATE TABLE promotions (
    promotion TEXT NOT NULL,
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    leased_until {integer} NOT NULL,
    fence {integer} NOT NULL,
    note TEXT,
    answer {bytes},
    answered_at {integer},
    PRIMARY KEY (promotion, app, subject, transaction_id)
){by-key};
CREATE INDEX promotions_by_answer ON promotions (answered_at) WHERE answered_at IS NOT NULL;
