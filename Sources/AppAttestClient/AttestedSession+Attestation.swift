// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

extension AttestedSession {
    /// The end of the patience of a call that begins now.
    var deadline: Duration { clock.uptime() + min(max(.zero, configuration.patience), .seconds(31_536_000)) }

    /// The key, attested by one task for all who wait.
    func attestedKey(until deadline: Duration) async throws -> String {
        while let forgetting { _ = try? await forgetting.value }
        if let record, record.stage == .registered, isSaved { return record.keyId }
        if let attesting { return try await attesting.value }
        // A separate task: its first caller may be cancelled while others need the key.
        let task = Task {
            defer { self.attesting = nil }
            return try await self.attest(until: deadline)
        }
        attesting = task
        return try await task.value
    }

    private func attest(until deadline: Duration) async throws -> String {
        // Such an extension sees its app's key in a shared Keychain group and cannot use it.
        guard configuration.process.canAttest else { throw unsupported("unsupported") }
        try await load()
        if let record, record.stage == .registered {
            if !isSaved { try? await save(record) }
            return record.keyId
        }
        if let missing { throw unsupported(missing) }
        guard await device.isSupported else { throw unsupported("unsupported") }
        if let pause = attestationPause, pause.until > clock.uptime() {
            throw SessionError(pause.error.kind, pause.error.code, retryAfter: pause.until - clock.uptime())
        }
        if record == nil { try await askRamp(until: deadline) }
        var last = SessionError(.unavailable, "service")
        for _ in 0..<2 {
            let made = try await generatedKey(until: deadline)
            switch try await certified(made, until: deadline) {
            case .failure(let error): last = error
            case .success(let certified):
                guard let error = try await register(certified, until: deadline) else { return certified.keyId }
                last = error
            }
            try await discard(made.keyId)
        }
        // Two keys in a row: it is not the keys. Apple counts them.
        let wait = max(.zero, (replacements.until ?? .zero) - clock.uptime())
        last = SessionError(last.kind, last.code, retryAfter: wait)
        attestationPause = (clock.uptime() + wait, last)
        throw last
    }

    // MARK: The steps

    private func load() async throws {
        guard record == nil, !isLoaded else { return }
        // If it cannot be read, the key may well be there: nothing is decided before.
        let item = try await stored { try await $0.read($1.keyItem) }
        record = item.flatMap { try? JSONDecoder().decode(KeyRecord.self, from: $0) }
        (isSaved, isLoaded) = (true, true)
    }

    /// The key that an earlier try left, or a new one.
    private func generatedKey(until deadline: Duration) async throws -> KeyRecord {
        if let record { return record }
        var isSecond = false
        while true {
            let made: KeyRecord
            do throws(DeviceFailure) {
                made = KeyRecord(keyId: try await device.generateKey())
            } catch {
                if error != .featureUnsupported { signal("clientError", error.name) }
                switch DeviceAdvice.advice(for: error).attesting {
                case .goOnWithout: throw unsupported(error.name)
                case .sameKeyLater: try await waitForApple(until: deadline)
                case .newKeyOnce, .sameKeyOnceThenNewKey:
                    guard !isSecond else { throw SessionError(.unavailable, error.name) }
                    isSecond = true
                }
                continue
            }
            record = made
            do {
                try await save(made)
            } catch {
                // A key that cannot be kept would cost an attestation at each launch.
                record = nil
                throw error
            }
            return made
        }
    }

    /// Apple's certificate for a key, or why the key must be thrown away.
    private func certified(_ made: KeyRecord, until deadline: Duration) async throws -> Result<KeyRecord, SessionError>
    {
        guard made.stage == .generated else { return .success(made) }
        var key = made
        while true {
            // Apple wants the same hash for each try with a key. The service wants a challenge that lives.
            if !key.hasFreshChallenge(at: now) {
                let challenge = try await attestationChallenge(until: deadline)
                (key.challenge, key.challengeSeconds) = (challenge.challenge, challenge.ttlSeconds)
                key.challengeFrom = now
                record = key
                try? await save(key)
            }
            guard let challenge = key.challenge.flatMap({ Data(base64Encoded: $0) }) else {
                throw SessionError(.unavailable, "service")
            }
            if let until = appleBackoff.until { try await wait(until: until, deadline, "serverUnavailable") }
            do throws(DeviceFailure) {
                key.attestation = try await device.attestKey(key.keyId, clientDataHash: hash(key, challenge))
                key.stage = .certified
                record = key
                try? await save(key)
                appleBackoff.succeeded()
                return .success(key)
            } catch {
                switch DeviceAdvice.advice(for: error).attesting {
                case .goOnWithout: throw unsupported(error.name)
                case .sameKeyLater: try await waitForApple(until: deadline)
                case .newKeyOnce, .sameKeyOnceThenNewKey:
                    signal("clientError", error.name)
                    return .failure(SessionError(.unavailable, error.name))
                }
            }
        }
    }

    /// Gives the service the certificate; nil once it has it, or why the key must be thrown away.
    private func register(_ certified: KeyRecord, until deadline: Duration) async throws -> SessionError? {
        guard let object = certified.attestation, let challenge = certified.challenge else {
            return SessionError(.unavailable, "storage")
        }
        var body = [
            "keyId": certified.keyId, "attestation": object.base64EncodedString(), "challenge": challenge,
        ]
        if configuration.binding == .clientData {
            body["clientData"] = AttestedSession.clientData(challenge).base64EncodedString()
        }
        if configuration.userChallenge != nil { body["user"] = configuration.scope.user }
        do {
            // The same bytes may be sent any number of times: the service answers as it did.
            let path = "\(appPath)/attestations"
            let request = body
            _ = try await ask(until: deadline) {
                try await $0.post(path, request, as: TrustServiceAPI.Attestation.self)
            }
        } catch let problem as ServiceProblem {
            switch problem.retry {
            case .newKey, .newChallenge: return SessionError(.refused, problem.code)
            case .never, .sameChallenge, .after, nil:
                let error = SessionError(.refused, problem.code)
                // The same object would be refused again. An hour later the service may be configured otherwise.
                attestationPause = (clock.uptime() + .seconds(3600), error)
                throw error
            }
        }
        var key = KeyRecord(keyId: certified.keyId)
        key.stage = .registered
        record = key
        try? await save(key)
        return nil
    }

    private func attestationChallenge(until deadline: Duration) async throws -> UserChallenge {
        if let userChallenge = configuration.userChallenge {
            do { return try await userChallenge() } catch {
                try Task.checkCancellation()
                throw SessionError(.unavailable, "network")
            }
        }
        let challenge = try await challenge(["purpose": "attest"], until: deadline)
        return UserChallenge(challenge: challenge.challenge, ttlSeconds: challenge.ttlSeconds)
    }

    private func hash(_ key: KeyRecord, _ challenge: Data) -> Data {
        switch configuration.binding {
        case .challenge: Data(SHA256.hash(data: challenge))
        case .raw: challenge
        case .clientData: Data(SHA256.hash(data: AttestedSession.clientData(key.challenge ?? "")))
        }
    }

    /// Client data with nothing but a challenge, which is base64 and needs no escapes.
    private static func clientData(_ challenge: String) -> Data { Data(#"{"challenge":"\#(challenge)"}"#.utf8) }

    private func askRamp(until deadline: Duration) async throws {
        guard let installation = configuration.installation else { return }
        let path = "\(appPath)/ramp?installation=\(TrustServiceAPI.segment(installation))"
        do {
            let ramp = try await ask(until: deadline) { try await $0.get(path, as: TrustServiceAPI.Ramp.self) }
            guard !ramp.attest else { return }
            let wait = HTTPAnswer.pause(max(1, ramp.notBeforeSeconds)) ?? .seconds(3600)
            let error = SessionError(.unavailable, "ramp", retryAfter: wait)
            attestationPause = (clock.uptime() + wait, error)
            throw error
        } catch let problem as ServiceProblem {
            throw SessionError(.refused, problem.code)
        }
    }

    // MARK: What goes wrong

    /// Throws a key away, unless somebody already has.
    func discard(_ keyId: String) async throws {
        guard record?.keyId == keyId else { return }
        record = nil
        cached = nil
        if let until = replacements.until, clock.uptime() > until + .seconds(86_400) { replacements.succeeded() }
        replacements.failed(at: clock.uptime(), random: clock.random())
        try? await save(nil)
    }

    /// Throws a key away that the device or the service does not know any more. From the third on there is a pause before each: if keys do
    /// not last, it is not the keys.
    func replace(_ keyId: String, because code: String, until deadline: Duration) async throws {
        guard record?.keyId == keyId else { return }
        if replacements.failures >= 2, let until = replacements.until { try await wait(until: until, deadline, code) }
        try await discard(keyId)
    }

    /// Throws a key away because the service says so: once a day at most, however often the app is started. Each key costs a question to Apple,
    /// and a false service must not cause many.
    func replace(asTold keyId: String, because code: String, until deadline: Duration) async throws {
        guard record?.keyId == keyId else { return }
        let now = clock.secondsSince1970()
        let last = try await stored { try await $0.read($1.replacedItem) }
        if let last = last.flatMap({ try? JSONDecoder().decode(Double.self, from: $0) }),
            let left = HTTPAnswer.pause(last + 86_400 - now), now >= last, left > .zero
        {
            throw SessionError(.unavailable, code, retryAfter: left)
        }
        try await stored { try await $0.write(JSONEncoder().encode(now), $1.replacedItem) }
        try await replace(keyId, because: code, until: deadline)
    }

    /// Notes that Apple's server is away, and waits for the next try.
    func waitForApple(until deadline: Duration) async throws {
        appleBackoff.failed(at: clock.uptime(), random: clock.random())
        guard let until = appleBackoff.until else { return }
        if until > deadline { signal("clientError", "serverUnavailable") }
        try await wait(until: until, deadline, "serverUnavailable")
    }

    /// Notes that App Attest is missing here, reports it to the service once, and gives the error for the app.
    func unsupported(_ code: String) -> SessionError {
        missing = code
        signal("unsupported", code)
        return SessionError(.unsupported, code)
    }

    /// Reports to the service, once for each code, without waiting; a failure changes nothing.
    func signal(_ kind: String, _ code: String) {
        guard signalled.insert("\(kind) \(code)").inserted else { return }
        struct Nothing: ServiceDocument {}
        let (api, path) = (api, "\(appPath)/signals")
        Task { _ = try? await api.post(path, ["kind": kind, "code": code], as: Nothing.self) }
    }

    func save(_ key: KeyRecord?) async throws {
        isSaved = false
        try await stored { try await $0.write(try key.map { try JSONEncoder().encode($0) }, $1.keyItem) }
        if record == key { isSaved = true }
    }

    /// - Throws: ``SessionError`` `storage` for whatever the store throws.
    private func stored<Value: Sendable>(
        _ work: @Sendable (any ItemStore, KeyScope) async throws -> Value
    ) async throws(SessionError) -> Value {
        do { return try await work(store, configuration.scope) } catch { throw SessionError(.unavailable, "storage") }
    }

    private var now: Date { Date(timeIntervalSince1970: clock.secondsSince1970()) }
}
