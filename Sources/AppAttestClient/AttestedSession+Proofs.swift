// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

extension AttestedSession {
    var appPath: String { "/v1/apps/\(TrustServiceAPI.segment(configuration.scope.app))" }

    /// Makes a proof and delivers it, one at a time; again as far as the answer says that it helps.
    func proven<Value: Sendable>(
        clientData: @escaping @Sendable (String) throws -> Data,
        deliver: @escaping @Sendable (RequestProof) async throws -> ServiceOutcome<Value>
    ) async throws -> Value {
        let deadline = deadline
        return try await lane.run {
            try await self.provenAlone(until: deadline, clientData: clientData, deliver: deliver)
        }
    }

    private func provenAlone<Value: Sendable>(
        until deadline: Duration, clientData: @Sendable (String) throws -> Data,
        deliver: @Sendable (RequestProof) async throws -> ServiceOutcome<Value>
    ) async throws -> Value {
        var challengesLeft = 4
        while true {
            let keyId = try await attestedKey(until: deadline)
            let challenge = try await challenge(["purpose": "assert", "keyId": keyId], until: deadline)
            let data = try clientData(challenge.challenge)
            guard let assertion = try await assertion(keyId, over: data, until: deadline) else { continue }
            let outcome = try await deliver(RequestProof(keyId: keyId, assertion: assertion, clientData: data))
            switch outcome {
            case .done(let value):
                serviceBackoff.succeeded()
                return value
            case .silence(let code, _, let retryAfter):
                // Whether it was accepted is unknown. The next try is another assertion, so it does no harm.
                try await waitForService(code, atLeast: retryAfter, until: deadline)
            case .problem(let problem):
                switch problem.retry {
                case .after: try await waitForService(problem.code, atLeast: problem.retryAfter, until: deadline)
                case .newKey: try await replace(asTold: keyId, because: problem.code, until: deadline)
                case .newChallenge, .sameChallenge:
                    // A counter that was too low, a challenge that was too old: the next ones are not.
                    challengesLeft -= 1
                    guard challengesLeft > 0 else { throw SessionError(.refused, problem.code) }
                case .never, nil: throw SessionError(.refused, problem.code)
                }
            }
        }
    }

    /// Signs client data; nil if the key had to be thrown away.
    private func assertion(_ keyId: String, over clientData: Data, until deadline: Duration) async throws -> Data? {
        let hash = Data(SHA256.hash(data: clientData))
        var isSecond = false
        while true {
            do throws(DeviceFailure) {
                return try await device.generateAssertion(keyId, clientDataHash: hash)
            } catch {
                switch DeviceAdvice.advice(for: error).asserting {
                case .goOnWithout: throw unsupported(error.name)
                case .sameKeyLater: try await waitForApple(until: deadline)
                case .sameKeyOnceThenNewKey where !isSecond: isSecond = true
                case .sameKeyOnceThenNewKey, .newKeyOnce:
                    signal("clientError", error.name)
                    try await replace(keyId, because: error.name, until: deadline)
                    return nil
                }
            }
        }
    }

    // MARK: Tokens

    /// The one renewal that runs, or a new one.
    func renewal() -> Task<AttestedToken, any Error> {
        if let renewing { return renewing }
        let epoch = epoch
        let task = Task {
            defer { if self.epoch == epoch { self.renewing = nil } }
            let made = try await self.newToken(isSingleUse: false)
            guard self.epoch == epoch else { throw CancellationError() }
            self.cached = made
            return made.token
        }
        renewing = task
        return task
    }

    func newToken(isSingleUse: Bool) async throws -> CachedToken {
        if let debug = configuration.debug { return try await debugToken(debug, isSingleUse: isSingleUse) }
        if !configuration.process.canAttest, !isSingleUse, let token = await sharedToken() { return token }
        do {
            return try await provenToken(isSingleUse: isSingleUse)
        } catch let error as SessionError where !isSingleUse && (error.kind == .unsupported || error.code == "ramp") {
            guard let token = await untrustedToken(because: error) else { throw error }
            return token
        }
    }

    /// A token of tier `none`; nil if the service gives none.
    private func untrustedToken(because error: SessionError) async -> CachedToken? {
        guard !refusesUntrusted else { return nil }
        let reason: String
        if error.code == "ramp" {
            reason = "ramp"
        } else if configuration.process.canAttest {
            #if targetEnvironment(simulator)
                reason = "simulator"
            #else
                reason = "unsupported"
            #endif
        } else {
            reason = "extension"
        }
        guard let challenge = try? await challenge(["purpose": "assert"], until: deadline) else { return nil }
        let asked = clock.uptime()
        let body = ["reason": reason, "challenge": challenge.challenge]
        switch try? await api.post("\(appPath)/tokens/untrusted", body, as: TrustServiceAPI.Token.self) {
        case .done(let answer):
            guard let value = answer.token, let life = HTTPAnswer.pause(answer.expiresIn) else { return nil }
            let token = AttestedToken(
                value: value, field: AttestedToken.bearerField, isSingleUse: false, isAttested: false)
            return CachedToken(token, asked: asked, life: life)
        case .problem(let problem):
            // A service that allows it says nothing else than to wait or to take another challenge.
            refusesUntrusted = problem.retry == .never || problem.retry == nil
            return nil
        case .silence, nil: return nil
        }
    }

    private func provenToken(isSingleUse: Bool) async throws -> CachedToken {
        let (api, path, clock, epoch) = (api, "\(appPath)/tokens", clock, epoch)
        let host = RequestBinding.host(of: configuration.service) ?? ""
        let clientData: @Sendable (String) throws -> Data = {
            try JSONEncoder().encode(["challenge": $0, "host": host])
        }
        let (answer, asked) = try await proven(clientData: clientData) { proof in
            let asked = clock.uptime()
            let body = TokenRequest(
                keyId: proof.keyId, assertion: proof.assertion, clientData: proof.clientData, singleUse: isSingleUse)
            switch try await api.post(path, body, as: TrustServiceAPI.Token.self) {
            case .done(let token): return .done((token, asked))
            case .problem(let problem): return .problem(problem)
            case .silence(let code, let status, let retryAfter):
                return ServiceOutcome.silence(code: code, status: status, retryAfter: retryAfter)
            }
        }
        guard let value = answer.token, let life = HTTPAnswer.pause(answer.expiresIn) else {
            // The service refuses nothing in this mode, and gives no token where it would have refused.
            throw SessionError(.unsupported, answer.enforcement?.code ?? "token.none")
        }
        let token = AttestedToken(value: value, field: AttestedToken.bearerField, isSingleUse: isSingleUse)
        guard epoch == self.epoch else { throw CancellationError() }
        if !isSingleUse { await share(token, life: life) }
        return CachedToken(token, asked: asked, life: life)
    }

    /// Data is written in base64.
    private struct TokenRequest: Encodable, Sendable {
        let keyId: String
        let assertion: Data
        let clientData: Data
        let singleUse: Bool
    }

    private struct DebugRequest: Encodable, Sendable {
        let debug_token: String
        let limited_use: Bool
    }

    private func debugToken(_ debug: DebugToken, isSingleUse: Bool) async throws -> CachedToken {
        let deadline = deadline
        let body = DebugRequest(debug_token: debug.token, limited_use: isSingleUse)
        while true {
            if let until = serviceBackoff.until { try await wait(until: until, deadline, "service") }
            let asked = clock.uptime()
            let path = "/v1/\(debug.resource):exchangeDebugToken"
            switch try await api.post(path, body, as: TrustServiceAPI.DebugToken.self) {
            case .done(let answer):
                serviceBackoff.succeeded()
                guard let life = HTTPAnswer.pause(answer.seconds) else { throw SessionError(.unavailable, "service") }
                let token = AttestedToken(
                    value: answer.token, field: AttestedToken.appCheckField, isSingleUse: isSingleUse)
                return CachedToken(token, asked: asked, life: life)
            case .problem(let problem) where problem.retry == .after:
                try await waitForService(problem.code, atLeast: problem.retryAfter, until: deadline)
            case .problem(let problem): throw SessionError(.refused, problem.code)
            case .silence(let code, let status, let retryAfter):
                // Errors have Google's shape here: the status says it.
                if let status, [400, 401, 403, 404].contains(status) { throw SessionError(.refused, "debug-token") }
                try await waitForService(code, atLeast: retryAfter, until: deadline)
            }
        }
    }

    private func share(_ token: AttestedToken, life: Duration) async {
        guard configuration.sharesToken else { return }
        let seconds = Double(life.components.seconds)
        let item = SharedToken(value: token.value, field: token.field, from: clock.secondsSince1970(), seconds: seconds)
        let (store, name, data) = (store, configuration.scope.tokenItem, try? JSONEncoder().encode(item))
        let task = Task<Void, Never> { _ = try? await store.write(data, name) }
        sharing = task
        await task.value
    }

    /// The token that the app has left, as long as it lives.
    private func sharedToken() async -> CachedToken? {
        guard let item = try? await store.read(configuration.scope.tokenItem),
            let shared = try? JSONDecoder().decode(SharedToken.self, from: item),
            let life = HTTPAnswer.pause(shared.seconds)
        else { return nil }
        let age = clock.secondsSince1970() - shared.from
        guard age >= 0, let past = HTTPAnswer.pause(age) else { return nil }
        let token = AttestedToken(value: shared.value, field: shared.field, isSingleUse: false)
        let cached = CachedToken(token, asked: clock.uptime() - past, life: life)
        return clock.uptime() < cached.endsAt ? cached : nil
    }

    // MARK: Calls of the service

    func challenge(_ body: [String: String], until deadline: Duration) async throws -> TrustServiceAPI.Challenge {
        let path = "\(appPath)/challenges"
        do {
            return try await ask(until: deadline) {
                try await $0.post(path, body, as: TrustServiceAPI.Challenge.self)
            }
        } catch let problem as ServiceProblem {
            throw SessionError(.refused, problem.code)
        }
    }

    /// A call that may be repeated: again after silence, and if the service says so, while there is patience.
    ///
    /// - Throws: `ServiceProblem` for every other refusal, ``SessionError`` `unavailable`.
    func ask<Value: ServiceDocument>(
        until deadline: Duration, _ call: @Sendable (TrustServiceAPI) async throws -> ServiceOutcome<Value>
    ) async throws -> Value {
        while true {
            if let until = serviceBackoff.until { try await wait(until: until, deadline, "service") }
            switch try await call(api) {
            case .done(let value):
                serviceBackoff.succeeded()
                return value
            case .silence(let code, _, let retryAfter):
                try await waitForService(code, atLeast: retryAfter, until: deadline)
            case .problem(let problem):
                guard problem.retry == .after else { throw problem }
                try await waitForService(problem.code, atLeast: problem.retryAfter, until: deadline)
            }
        }
    }

    /// Notes that the service cannot answer, and waits for the next try.
    func waitForService(_ code: String, atLeast: Duration?, until deadline: Duration) async throws {
        serviceBackoff.failed(at: clock.uptime(), random: clock.random(), atLeast: atLeast)
        if let until = serviceBackoff.until { try await wait(until: until, deadline, code) }
    }

    /// Waits, if there is patience enough.
    ///
    /// - Throws: ``SessionError`` `unavailable` with the code.
    func wait(until: Duration, _ deadline: Duration, _ code: String) async throws {
        let now = clock.uptime()
        guard until > now else { return }
        guard until <= deadline else { throw SessionError(.unavailable, code, retryAfter: until - now) }
        try await clock.sleep(until - now)
    }
}
