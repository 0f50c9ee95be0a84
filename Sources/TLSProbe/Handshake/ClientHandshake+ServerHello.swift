// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

extension ClientHandshake {
    /// Judges the server's choice against the offer, and turns to the flight of its version.
    mutating func take(_ answer: ServerHello, _ whole: ArraySlice<UInt8>) throws(Abort) -> [UInt8] {
        guard offer.versions.contains(answer.version) else {
            throw Abort(outcome: .unofferedVersion(answer.version))
        }
        try require(
            offer.sentSuites.contains(answer.suite), "The server chose the suite \(answer.suite), which was not offered"
        )
        try require(
            (answer.suite.keyExchange == .tls13) == (answer.version >= .tls13),
            "The server chose \(answer.suite), which does not belong to \(answer.version)")
        try require(
            answer.version >= .tls12 || !answer.suite.needsTLS12,
            "The server chose \(answer.suite), which \(answer.version) does not define")
        // RFC 8446 section 4.1.3: legacy_version names nothing newer than TLS 1.2.
        try require(
            answer.version < .tls13 || answer.extensions[ExtensionType.supportedVersions] != nil,
            "The server names \(answer.version) in a field for older versions")
        try require(answer.compression == 0, "The server chose compression, which was not offered")
        if answer.isRetryRequest, answer.version >= .tls13 { return try retry(answer, whole) }
        if answer.version >= .tls13 {
            try startModern(answer, whole)
        } else {
            try startClassic(answer)
        }
        return []
    }

    private mutating func startClassic(_ answer: ServerHello) throws(Abort) {
        try require(
            answer.extensions[ExtensionType.supportedVersions] == nil,
            "The server named \(answer.version) in the extension that only TLS 1.3 has")
        try require(
            answer.version == offer.maximumVersion || !answer.warnsOfDowngrade || offer.maximumVersion < .tls12,
            "The server signals a downgrade: it could have negotiated a newer version")
        try require(
            offer.maximumVersion < .tls13 || answer.sessionIdentifier != secrets.sessionIdentifier,
            "The server resumed a session that was never offered")
        var observation = HandshakeObservation(
            version: answer.version, suite: answer.suite, keyPossession: .unproven("The server sent no signature"),
            applicationProtocol: try applicationProtocol(answer.extensions),
            timestamps: answer.extensions[ExtensionType.timestamps].map { Array($0) },
            usesExtendedMasterSecret: answer.extensions[ExtensionType.extendedMasterSecret] != nil)
        if answer.suite.keyExchange == .rsa {
            observation.keyPossession = .unproven(
                "With RSA key exchange only the end of the handshake proves that the server has its private key")
        }
        self.observation = observation
        serverRandom = answer.random
        state = .certificate
    }

    private mutating func startModern(_ answer: ServerHello, _ whole: ArraySlice<UInt8>) throws(Abort) {
        try require(
            answer.sessionIdentifier == secrets.sessionIdentifier, "The server does not echo the session identifier")
        try require(
            observation.map { $0.suite == answer.suite } ?? true,
            "The server changed the suite after its HelloRetryRequest")
        guard let (group, share) = answer.keyShare, let mine = shares.first(where: { $0.group == group }) else {
            throw Abort("The server's key share is for a group that was not offered")
        }
        guard let secret = mine.secret(with: share) else {
            throw Abort("The server's key share is not a key of \(group)")
        }
        try require(!messages.isInsideMessage, "The server's flight continues unencrypted")
        transcript += whole
        keys = HandshakeKeys(suite: answer.suite, sharedSecret: secret, transcript: transcript)
        observation = HandshakeObservation(
            version: answer.version, suite: answer.suite, group: group,
            keyPossession: .unproven("The server sent no signature"), usedHelloRetryRequest: observation != nil)
        state = .encryptedExtensions
    }

    /// RFC 8446 section 4.1.4: the second hello differs only in its share and the cookie.
    private mutating func retry(_ answer: ServerHello, _ whole: ArraySlice<UInt8>) throws(Abort) -> [UInt8] {
        try require(observation == nil, "The server sent a second HelloRetryRequest")
        try require(
            answer.sessionIdentifier == secrets.sessionIdentifier, "The server does not echo the session identifier")
        if let (group, _) = answer.keyShare {
            try require(
                offer.groups.contains(group) && !shares.contains { $0.group == group },
                "The server asked for the group \(group), which was not offered or already has a key share")
            guard let share = secrets.keyShare(group) else {
                guard offer.learnsForeignGroups else { throw Abort("The group \(group) cannot be used here") }
                observation = HandshakeObservation(
                    version: answer.version, suite: answer.suite, group: group,
                    keyPossession: .unproven("The key exchange with \(group) cannot be done here"),
                    usedHelloRetryRequest: true)
                finish()
                return []
            }
            shares = [share]
            hello.shares = [(group, share.publicKey)]
        }
        if let body = answer.extensions[ExtensionType.cookie] {
            var reader = WireReader(body)
            guard let cookie = reader.vector(2), reader.isEmpty, !cookie.isEmpty else {
                throw Abort("The server's cookie is malformed")
            }
            try require(
                cookie.count <= ClientHandshake.maximumCookie,
                "The server's cookie has \(cookie.count) bytes, and more than \(ClientHandshake.maximumCookie) are not echoed"
            )
            hello.cookie = Array(cookie)
        }
        try require(hello.cookie != nil || answer.keyShare != nil, "The server's HelloRetryRequest changes nothing")
        try require(!messages.isInsideMessage, "The server sent more after its HelloRetryRequest")
        observation = HandshakeObservation(
            version: answer.version, suite: answer.suite, keyPossession: .unproven("The server sent no signature"))
        let hash: ScheduleHash = answer.suite == .aes256GCMSHA384 ? .sha384 : .sha256
        let digest = hash.hash(transcript)
        hello.isSecond = true
        let second = hello.message
        transcript = [MessageType.messageHash, 0, 0, UInt8(clamping: digest.count)] + digest + whole + second
        return RecordReader.record(ContentType.changeCipherSpec, version: TLSVersion.tls12.rawValue, [1])
            + RecordReader.record(ContentType.handshake, version: TLSVersion.tls12.rawValue, second)
    }

    func applicationProtocol(_ extensions: [UInt16: ArraySlice<UInt8>]) throws(Abort) -> String? {
        guard let body = extensions[ExtensionType.applicationProtocols] else { return nil }
        guard let name = ServerHello.applicationProtocol(body),
            let offered = offer.applicationProtocols.first(where: { $0.utf8.elementsEqual(name) })
        else {
            throw Abort("The server chose an application protocol that was not offered")
        }
        return offered
    }

    /// Takes the chain and reads the key of its leaf. A leaf without a readable key leaves possession unproven.
    mutating func takeChain(_ certificates: [[UInt8]]) throws(Abort) {
        guard let leaf = certificates.first else { throw Abort("The server sent no certificate") }
        observation?.certificates = certificates
        leafKey = try? PublicKeyFacts(ofCertificate: leaf)
    }

    /// The body of a CertificateStatus.
    mutating func takeStaple(_ body: ArraySlice<UInt8>) {
        guard let response = CertificateStatus.response(body) else { return }
        observation?.stapledResponse = response
        observation?.stapledTimestamps = StapledResponse.timestamps(in: response)
    }
}

extension CipherSuite {
    /// Suites with an AEAD, or with SHA-2 in the MAC, came with TLS 1.2 (RFC 5246 section 5, RFC 5288).
    var needsTLS12: Bool {
        let name = description
        return ["_GCM_", "CHACHA20", "_SHA256", "_SHA384"].contains { name.contains($0) }
    }
}
