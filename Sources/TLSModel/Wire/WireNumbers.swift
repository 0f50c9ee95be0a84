// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The content types of TLS records (RFC 8446 section 5.1).
package enum ContentType {
    package static let changeCipherSpec: UInt8 = 20
    package static let alert: UInt8 = 21
    package static let handshake: UInt8 = 22
    package static let applicationData: UInt8 = 23
}

/// The numbers of handshake messages (IANA registry "TLS HandshakeType").
package enum MessageType {
    package static let helloRequest: UInt8 = 0
    package static let clientHello: UInt8 = 1
    package static let serverHello: UInt8 = 2
    package static let encryptedExtensions: UInt8 = 8
    package static let certificate: UInt8 = 11
    package static let serverKeyExchange: UInt8 = 12
    package static let certificateRequest: UInt8 = 13
    package static let serverHelloDone: UInt8 = 14
    package static let certificateVerify: UInt8 = 15
    package static let finished: UInt8 = 20
    package static let certificateStatus: UInt8 = 22
    package static let compressedCertificate: UInt8 = 25
    package static let messageHash: UInt8 = 254
}

/// The numbers of the extensions that are sent or read here (IANA registry "TLS ExtensionType Values").
package enum ExtensionType {
    package static let serverName: UInt16 = 0
    package static let statusRequest: UInt16 = 5
    package static let supportedGroups: UInt16 = 10
    package static let pointFormats: UInt16 = 11
    package static let signatureAlgorithms: UInt16 = 13
    package static let applicationProtocols: UInt16 = 16
    package static let timestamps: UInt16 = 18
    package static let padding: UInt16 = 21
    package static let extendedMasterSecret: UInt16 = 23
    package static let certificateCompression: UInt16 = 27
    package static let supportedVersions: UInt16 = 43
    package static let cookie: UInt16 = 44
    package static let pskModes: UInt16 = 45
    package static let keyShare: UInt16 = 51
    package static let nextProtocol: UInt16 = 0x3374
    package static let renegotiation: UInt16 = 0xFF01
}

/// The most that is read of a handshake before it is given up. The prober and the observer of a load share these limits.
package enum WireLimits {
    /// The most bytes of one flight. The largest honest ones, with a long chain and a staple, stay under 40 KiB.
    package static let flight = 256 * 1024
    /// The most bytes of a client's hello. With a post-quantum share they have 2 KiB, and with a ticket seldom 4.
    package static let hello = 64 * 1024
    /// The most bytes of a handshake message. Chains of the web stay under 20 KiB; 128 KiB are ten times what OpenSSL accepts of a chain by
    /// default.
    package static let message = 128 * 1024
    /// The most certificates of a Certificate message; Apple's and OpenSSL's own limits are lower.
    package static let certificates = 64
}
