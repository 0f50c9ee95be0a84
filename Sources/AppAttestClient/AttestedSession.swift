// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// The app's side of App Attest: attests once for each user on a device, and proves requests from then on.
///
///     let session = AttestedSession(configuration, device: AppAttestDevice(), store: KeychainStore(group: group))
///     let answer = try await session.send(URLRequest(url: orders))          // with a token
///     let paid = try await session.sendSigned(payment)                      // with its own proof
///
/// One attestation runs at a time, and callers that need the key meanwhile wait for it. Assertions are made and delivered strictly one after the
/// other, because the service accepts only counters that grow. What is done about each `DCError` is in ``DeviceAdvice``; refusals of the
/// service are answered as its problem documents say. There must be one session for a scope: ``AttestedSessions`` sees to it.
public actor AttestedSession {
    let configuration: Configuration
    let device: any AttestingDevice
    let store: any ItemStore
    let transport: any HTTPTransport
    let clock: SessionClock
    let api: TrustServiceAPI

    /// The key of this scope, once it was read or made.
    var record: KeyRecord?
    /// Whether the store has `record` as it is.
    var isSaved = true
    /// Whether the store was read: from then on `record` says what there is, also while a deletion runs.
    var isLoaded = false
    /// Rises with each ``forgetKey()``; work begun before it is dropped.
    var epoch: UInt64 = 0
    var forgetting: Task<Void, any Error>?
    var attesting: Task<String, any Error>?
    var renewing: Task<AttestedToken, any Error>?
    /// The token that is being written for extensions.
    var sharing: Task<Void, Never>?
    var cached: CachedToken?
    /// Why there is no App Attest here, once that is known.
    var missing: String?
    /// Whether the service gives no token to callers that cannot attest.
    var refusesUntrusted = false
    /// What was signalled in this process: each once.
    var signalled: Set<String> = []
    /// The service, or the way to it, fails.
    var serviceBackoff = Backoff(first: .milliseconds(500), most: .seconds(3600))
    /// Apple's server fails.
    var appleBackoff = Backoff(first: .seconds(1), most: .seconds(3600))
    /// Keys were thrown away: Apple counts keys, and a key that is refused again and again is no fault of the key.
    var replacements = Backoff(first: .seconds(60), most: .seconds(86_400))
    /// No attestation before this uptime, and why.
    var attestationPause: (until: Duration, error: SessionError)?
    let lane = SerialLane()

    /// Nothing happens until a proof is needed.
    ///
    /// - Parameters:
    ///   - device: ``AppAttestDevice``, or a simulated one.
    ///   - store: ``KeychainStore``, or memory.
    ///   - transport: who sends requests, to the service and those of ``send(_:)`` and ``sendSigned(_:)``.
    public init(
        _ configuration: Configuration, device: any AttestingDevice, store: any ItemStore,
        transport: any HTTPTransport = URLSessionTransport()
    ) {
        self.init(configuration, device: device, store: store, transport: transport, clock: .live)
    }

    /// The same with a clock of the caller's.
    package init(
        _ configuration: Configuration, device: any AttestingDevice, store: any ItemStore, transport: any HTTPTransport,
        clock: SessionClock
    ) {
        self.configuration = configuration
        self.device = device
        self.store = store
        self.transport = transport
        self.clock = clock
        api = TrustServiceAPI(base: configuration.service, transport: transport)
    }

    /// The identifier of a key that Apple has certified and the service knows: the kept one, or a new one.
    ///
    /// Call it early, for example after sign-in, so that the first request need not wait.
    ///
    /// - Throws: ``SessionError``.
    @discardableResult
    public func attestedKey() async throws -> String { try await attestedKey(until: deadline) }

    /// Makes the proof of one request and gives it to `deliver`, while no other proof is made: the next one waits for its end.
    ///
    /// - Parameters:
    ///   - clientData: the bytes to sign: one JSON object with the challenge as its member `challenge`, and what the server must rely on.
    ///     Called again for each try.
    ///   - deliver: sends the proof and gives the answer. It is called again with a new proof if the answer is a problem document of the service
    ///     that asks for one, so it must not repeat what else it does.
    /// - Throws: ``SessionError``, and what the closures throw.
    public func withProof(
        clientData: @escaping @Sendable (_ challenge: String) throws -> Data,
        deliver: @escaping @Sendable (RequestProof) async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        try await proven(clientData: clientData) { proof in
            let answer = try await deliver(proof)
            // What a backend says in its own name, and what is final, is the app's.
            guard let problem = ServiceProblem(answer), problem.isOfService, problem.retry != nil,
                problem.retry != .never
            else { return .done(answer) }
            return .problem(problem)
        }
    }

    /// Signs a request: method, path, query and body, with a fresh challenge, in the header fields ``RequestProof/fields``.
    ///
    /// Send it once. Signed requests that are sent side by side may arrive in another order, which the service refuses unless the app's
    /// `counterMode` is `challenge`; ``sendSigned(_:)`` keeps the order. Without App Attest the request comes back as it is, for the server to
    /// decide, and with a debug token with that.
    ///
    /// - Parameter body: the body of an upload that the request does not contain.
    /// - Throws: ``SessionError``, never `unsupported`.
    public func sign(_ request: URLRequest, body: Data? = nil) async throws -> URLRequest {
        try check(request)
        if configuration.debug != nil { return try await authorize(request) }
        let binding = try RequestBinding(request, body: body)
        do {
            return try await proven(clientData: { try binding.clientData(challenge: $0) }) { proof in
                .done(proof.added(to: request))
            }
        } catch let error as SessionError where error.kind == .unsupported {
            return request
        }
    }

    /// Signs a request and sends it, while no other signed request is under way.
    ///
    /// If the backend passes on what the service says about the proof, the request is signed and sent again as far as that helps.
    ///
    /// - Throws: ``SessionError``, and what the transport throws.
    public func sendSigned(_ request: URLRequest) async throws -> HTTPAnswer {
        try check(request)
        if configuration.debug != nil { return try await send(request) }
        let binding = try RequestBinding(request)
        do {
            let transport = transport
            return try await withProof(clientData: { try binding.clientData(challenge: $0) }) { proof in
                try await transport.send(proof.added(to: request))
            }
        } catch let error as SessionError where error.kind == .unsupported {
            return try await transport.send(request)
        }
    }

    /// A token for many requests: the one that is there, renewed from half of its life on.
    ///
    /// Without App Attest, and before its turn in the ramp, the session asks for a token of tier `none`: the service gives one if it is configured
    /// to, and ``AttestedToken/isAttested`` is false.
    ///
    /// - Throws: ``SessionError``.
    public func token() async throws -> AttestedToken {
        if let cached {
            let now = clock.uptime()
            if now < cached.renewAt { return cached.token }
            if now < cached.endsAt {
                // Good for the rest of its life, whatever becomes of the renewal.
                _ = renewal()
                return cached.token
            }
        }
        return try await renewal().value
    }

    /// A token that passes once, for the app's backend to consume. Each call makes a new one.
    ///
    /// - Throws: ``SessionError``.
    public func singleUseToken() async throws -> AttestedToken { try await newToken(isSingleUse: true).token }

    /// The request with a token. Without App Attest it comes back as it is, for the server to decide.
    ///
    /// - Throws: ``SessionError``, never `unsupported`.
    public func authorize(_ request: URLRequest) async throws -> URLRequest {
        try await authorized(request).request
    }

    /// Sends a request with a token. If the answer is 401 a new token is tried, once.
    ///
    /// - Throws: ``SessionError``, and what the transport throws.
    public func send(_ request: URLRequest) async throws -> HTTPAnswer {
        let first = try await authorized(request)
        let answer = try await transport.send(first.request)
        guard answer.status == 401, let token = first.token else { return answer }
        forget(token)
        let second = try await authorized(request)
        guard let other = second.token, other != token else { return answer }
        return try await transport.send(second.request)
    }

    /// Call it if a server says that a token is not valid: the next one is new.
    public func forget(_ token: AttestedToken) {
        if cached?.token == token { cached = nil }
    }

    /// Throws the key and its token away, for example because the user deletes the account. The next proof begins with a new key.
    ///
    /// Callers that wait for a token of the old key get a `CancellationError`.
    ///
    /// - Throws: ``SessionError`` `storage`.
    public func forgetKey() async throws {
        if let forgetting { return try await forgetting.value }
        epoch &+= 1
        (cached, renewing) = (nil, nil)
        // A separate task, because cancellation must not leave half of it undone.
        let task = Task {
            defer { self.forgetting = nil }
            try await self.forgetAlone()
        }
        forgetting = task
        try await task.value
    }

    /// Callers that need a key meanwhile wait for its end.
    private func forgetAlone() async throws {
        // What is being attested or written would come back otherwise.
        _ = try? await attesting?.value
        await sharing?.value
        (record, isLoaded) = (nil, true)
        try? await store.write(nil, configuration.scope.tokenItem)
        try await save(nil)
    }

    /// A proof or a token goes to the hosts of the configuration alone, and nobody reads it on the way.
    private func check(_ request: URLRequest) throws(SessionError) {
        guard let url = request.url, let host = RequestBinding.host(of: url) else {
            throw SessionError(.refused, "request.url")
        }
        guard RequestBinding.isPrivate(url) else { throw SessionError(.refused, "request.scheme") }
        guard
            configuration.hosts.contains(where: { $0.lowercased() == host })
                || host == RequestBinding.host(of: configuration.service)
        else {
            throw SessionError(.refused, "request.host")
        }
    }

    private func authorized(_ request: URLRequest) async throws -> (request: URLRequest, token: AttestedToken?) {
        try check(request)
        do {
            let token = try await token()
            var request = request
            request.setValue(token.fieldValue, forHTTPHeaderField: token.field)
            return (request, token)
        } catch let error as SessionError where error.kind == .unsupported {
            return (request, nil)
        }
    }
}

/// The sessions of one app: one for each user.
public actor AttestedSessions {
    private let make: @Sendable (String?) -> AttestedSession
    private var sessions: [[UInt8]?: AttestedSession] = [:]

    /// - Parameter make: makes the session of a user; nil is nobody. Its scope must name that user.
    public init(_ make: @escaping @Sendable (_ user: String?) -> AttestedSession) { self.make = make }

    /// The session of a user: the same one for as long as this object lives.
    public func session(for user: String? = nil) -> AttestedSession {
        let name = user.map { Array($0.utf8) }
        if let session = sessions[name] { return session }
        let session = make(user)
        sessions[name] = session
        return session
    }
}
