// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// Decides which hello to send next, so that few hellos answer many questions.
///
/// The rules hold for every server that takes the highest version in common and then the first suite in a fixed order of its
/// own, which nearly all do:
/// - a hello that failed decides every question that accepts less;
/// - a hello that gave a version and a suite decides every question that accepts both, the wider and the narrower ones;
/// - a hello that gave a version decides every question with a higher floor; up to that version the floor changes nothing.
///
/// A refusal that follows in this way may still be worded otherwise than the one that the server would send: an alert for the version is not one
/// for the suites. Where that is open the hello is sent, so that the number that an app gets is that of the row itself. It is not open between two
/// floors that got the same refusal.
///
/// When two answers contradict each other the server is not of that kind, and all questions are asked.
package struct AdaptivePlan: Sendable {
    /// What is known about one question.
    package struct Answer: Sendable, Equatable {
        /// What the server did, or would do.
        package let outcome: HandshakeOutcome
        /// Whether the hello itself would end in the same way, and not only with the same success.
        package let isExact: Bool
    }

    /// The questions, the one to begin with first.
    package let questions: [HelloQuestion]
    package let maximumVersion: TLSVersion
    /// Whether all questions are asked: on demand, or after a contradiction.
    package private(set) var isExhaustive: Bool
    package private(set) var foundContradiction = false
    private var asked: [Int: HandshakeOutcome] = [:]
    private var order: [Int] = []

    /// A plan that answers these questions, widest first; `exhaustive` asks each.
    package init(questions: [HelloQuestion], maximumVersion: TLSVersion = .tls13, exhaustive: Bool = false) {
        self.questions = questions
        self.maximumVersion = maximumVersion
        isExhaustive = exhaustive
    }

    package var hellosSent: Int { order.count }

    /// The question to ask next; nil when all are answered.
    package var next: Int? {
        let open = questions.indices.filter { answer($0)?.isExact != true }
        guard let first = open.first else { return nil }
        if order.isEmpty || isExhaustive { return first }
        // The widest decides the most.
        return open.min { left, right in
            let (one, two) = (questions[left], questions[right])
            if one.suites.count != two.suites.count { return one.suites.count > two.suites.count }
            return one.minimumVersion != two.minimumVersion ? one.minimumVersion < two.minimumVersion : left < right
        }
    }

    /// Takes the outcome of the hello for question `index`.
    package mutating func record(_ outcome: HandshakeOutcome, for index: Int) {
        guard questions.indices.contains(index), asked[index] == nil else { return }
        for earlier in order {
            guard let was = asked[earlier], let implied = implied(by: outcome, of: index, for: earlier) else {
                continue
            }
            if was.isNegotiated != implied.outcome.isNegotiated { foundContradiction = true }
        }
        asked[index] = outcome
        order.append(index)
        if foundContradiction { isExhaustive = true }
    }

    /// The answer to question `index`, an exact one where there is any; nil if nothing decides it yet.
    package func answer(_ index: Int) -> Answer? {
        guard questions.indices.contains(index) else { return nil }
        if let outcome = asked[index] { return Answer(outcome: outcome, isExact: true) }
        var likely: Answer?
        for source in order {
            guard let outcome = asked[source] else { continue }
            if isExhaustive, !outcome.endsThePlan { continue }
            guard let answer = implied(by: outcome, of: source, for: index) else { continue }
            if answer.isExact { return answer }
            likely = likely ?? answer
        }
        return likely
    }

    /// The newest version that the server took; nil if it took none yet.
    private var newestVersion: TLSVersion? {
        asked.values.compactMap { if case .negotiated(let observation) = $0 { observation.version } else { nil } }.max()
    }

    /// What the outcome of one question says about another.
    private func implied(by outcome: HandshakeOutcome, of source: Int, for index: Int) -> Answer? {
        let (known, wanted) = (questions[source], questions[index])
        // A hello up to TLS 1.2 does not show its floor to the server (RFC 5246 section 7.4.1.2).
        let showsFloor = maximumVersion >= .tls13
        switch outcome {
        case .negotiated(let observation):
            if wanted.accepts(observation.version, observation.suite) { return Answer(outcome: outcome, isExact: true) }
            guard wanted.minimumVersion > observation.version else { return nil }
            if !showsFloor, wanted.suites.contains(observation.suite) {
                return Answer(outcome: .unofferedVersion(observation.version), isExact: true)
            }
            // What a server says when the versions do not meet, or a client. One that said it once says it again.
            return Answer(outcome: .noCommonVersion, isExact: asked.values.contains(.noCommonVersion))
        case .alert, .protocolError, .connection(.closed), .connection(.reset):
            // A server without a version in common has none either for fewer versions, whatever the suites.
            if outcome == .noCommonVersion, known.minimumVersion <= wanted.minimumVersion {
                return Answer(outcome: outcome, isExact: true)
            }
            let floor = max(known.minimumVersion, wanted.minimumVersion)
            let isShared = outcome.isRefusal && newestVersion.map { floor <= $0 } == true
            guard known.includes(wanted) || isShared && known.suites.isSuperset(of: wanted.suites) else { return nil }
            let isExact =
                !showsFloor || isShared || known.minimumVersion == wanted.minimumVersion || outcome.isSilence
                || asked.contains { questions[$0].minimumVersion >= wanted.minimumVersion && $1 == outcome }
            return Answer(outcome: outcome, isExact: isExact)
        case .connection: return Answer(outcome: outcome, isExact: true)
        }
    }
}

extension HandshakeOutcome {
    /// protocol_version.
    fileprivate static let noCommonVersion = HandshakeOutcome.alert(level: 2, description: 70)

    /// A server's choice of a version below the client's floor.
    static func unofferedVersion(_ version: TLSVersion) -> HandshakeOutcome {
        .protocolError("The server chose \(version), which was not offered")
    }

    package var isNegotiated: Bool {
        if case .negotiated = self { true } else { false }
    }

    /// A TLS answer that is a no.
    package var isRefusal: Bool {
        switch self {
        case .alert, .protocolError: true
        case .negotiated, .connection: false
        }
    }

    /// Whether another hello would end the same way: no connection, no answer, or no TLS at all.
    package var endsThePlan: Bool {
        switch self {
        case .connection(.closed), .connection(.reset): false
        case .connection: true
        case .negotiated, .alert, .protocolError: false
        }
    }
}

/// One thing to learn of a server: does it agree with a client that accepts these suites from this version on?
package struct HelloQuestion: Sendable, Hashable {
    /// The least version that the hello would take.
    package let minimumVersion: TLSVersion
    package let suites: Set<CipherSuite>

    package init(minimumVersion: TLSVersion, suites: [CipherSuite]) {
        self.minimumVersion = minimumVersion
        self.suites = Set(suites)
    }

    /// Whether every handshake that `other` accepts is accepted here too.
    package func includes(_ other: HelloQuestion) -> Bool {
        minimumVersion <= other.minimumVersion && suites.isSuperset(of: other.suites)
    }

    /// Whether a handshake that ended with this version and suite is accepted.
    package func accepts(_ version: TLSVersion, _ suite: CipherSuite) -> Bool {
        minimumVersion <= version && suites.contains(suite)
    }
}
