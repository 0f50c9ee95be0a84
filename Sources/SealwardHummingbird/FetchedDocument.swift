// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// A document of the service: fetched when first needed, by one call for all who wait, and again once it is older than its lifetime.
///
/// What is old is used further only while the service does not answer.
actor FetchedDocument<Value: Sendable> {
    /// What is known now.
    struct State: Sendable {
        /// The newest document; nil if there never was one.
        var value: Value?
        /// When it was fetched, or the service said that it is still the newest.
        var fetchedAt: Duration?
        /// Whether the last question had no answer that could be read.
        var isUnanswered = false
    }

    /// Between two questions, if one was ever answered.
    static var pause: Duration { .seconds(60) }
    /// Between two questions, if there never was an answer.
    static var firstPause: Duration { .seconds(1) }

    private let request: GateRequest
    private let lifetime: Duration
    private let transport: any GateTransport
    private let uptime: @Sendable () -> Duration
    private let read: @Sendable (GateAnswer) async -> Value?
    private var state = State()
    private var tag: String?
    private var askedAt: Duration?
    private var fetching: Task<Void, Never>?

    /// - Parameters:
    ///   - lifetime: how old it may be before it is fetched again.
    ///   - read: reads an answer of status 200; nil if it is not the document.
    init(
        _ request: GateRequest, lifetime: Duration, transport: any GateTransport,
        uptime: @escaping @Sendable () -> Duration, read: @escaping @Sendable (GateAnswer) async -> Value?
    ) {
        self.request = request
        self.lifetime = lifetime
        self.transport = transport
        self.uptime = uptime
        self.read = read
    }

    /// The document, fetched again if it is old or does not serve.
    ///
    /// - Parameters:
    ///   - pause: the shortest time between two questions because it does not serve.
    ///   - serves: whether a document of this age is good enough for the caller.
    func state(
        pause: Duration = FetchedDocument.pause, serving serves: @Sendable (Value, _ age: Duration) -> Bool
    ) async -> State {
        let now = uptime()
        let age = state.fetchedAt.map { now - $0 } ?? .zero
        let isServing = state.value.map { serves($0, age) } ?? false
        if isServing, age < lifetime { return state }
        let shortest = state.fetchedAt == nil ? Self.firstPause : isServing ? Self.pause : pause
        let task = begin(at: now, after: shortest)
        // While the service does not answer, what is known serves without a wait for each deadline.
        if !isServing || !state.isUnanswered { await task?.value }
        return state
    }

    /// The question that is under way, or a new one if enough time has passed.
    private func begin(at now: Duration, after pause: Duration) -> Task<Void, Never>? {
        if let fetching { return fetching }
        if let askedAt, now - askedAt < pause { return nil }
        askedAt = now
        let task = Task { await fetch() }
        fetching = task
        return task
    }

    private func fetch() async {
        var request = request
        request.tag = tag
        let answer = try? await transport.send(request)
        if let answer, answer.status == 304, tag != nil, state.value != nil {
            (state.fetchedAt, state.isUnanswered) = (uptime(), false)
        } else if let answer, answer.status == 200, let value = await read(answer) {
            state = State(value: value, fetchedAt: uptime())
            tag = answer.tag
        } else {
            state.isUnanswered = true
        }
        fetching = nil
    }
}
