// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Formats
import FoundationEssentials
import TLSModel
import TLSProbe
import Vocabulary

/// One chain to judge, with everything that it is judged by still as paths and text.
struct CertificateJob {
    /// As it was given, for the answer.
    var file: String
    var path: String
    var host: String?
    var profile: OSProfile
    var instant: Date?
    var authorities: [String]
    /// Files of anchors that the app itself brings.
    var appAnchors: [String] = []
    /// What replaces the system's roots; empty for those.
    var roots: [String]
    var logs: String?
    var response: String?
    var serverTrust: TransportRequirements.ServerTrust
}

extension CertificateJob {
    /// A host as ``LoadURL`` has it: lower case, its ASCII form; an IPv6 address with or without brackets.
    static func host(_ text: String) throws(MalformedInput) -> String {
        if let address = IPAddress(text) { return address.canonicalText }
        let url = try LoadURL("https://\(text)/")
        guard url.port == nil, url.pathAndQuery.utf8.count == 1, !text.utf8.contains(0x40) else {
            throw MalformedInput(
                code: .malformedURL, quoting: text, reason: "a host must not have a port, path or user")
        }
        return url.host
    }

    /// Reads one line of `--jobs`. Ignores members that are no options, so that a list may carry notes.
    ///
    /// - Throws: `malformed.json` for what is no object, has no `file`, or has an option with a value that it does not take.
    init(object: JSONValue, defaults: CertificateOptions, folder: URL?) throws(MalformedInput) {
        func fault(_ reason: String) -> MalformedInput { MalformedInput(code: .malformedJSON, reason: reason) }
        func text(_ name: String) throws(MalformedInput) -> String? {
            switch object.member(name) {
            case nil, .null: return nil
            case .string(let text): return text
            default: throw fault("the member \(name) is not a string")
            }
        }
        func path(_ given: String) -> String {
            guard let folder, given.utf8.first != 0x2F else { return given }
            return folder.appendingPathComponent(given).path
        }
        /// Nil if the member is absent.
        func paths(_ name: String) throws(MalformedInput) -> [String]? {
            let fault = fault("the member \(name) must be a path or a list of paths")
            switch object.member(name) {
            case nil, .null: return nil
            case .string(let one): return [path(one)]
            case .array(let list):
                var paths: [String] = []
                for entry in list {
                    guard case .string(let one) = entry else { throw fault }
                    paths.append(path(one))
                }
                return paths
            default: throw fault
            }
        }
        guard object.members != nil else { throw fault("a job must be a JSON object") }
        guard let file = try text("file") else { throw fault("the job has no member file") }
        self = defaults.job(file: file)
        self.path = path(file)
        if let given = try text("host") { host = given }
        if let id = try text("os") {
            do { profile = try defaults.system.judged(on: OSProfile.asked(id)) } catch { throw fault(error.reason) }
        }
        switch object.member("sdk") {
        case nil, .null: break
        case let value?:
            let number = value.integer.map(String.init) ?? value.text ?? ""
            guard let sdk = LinkedSDK(number) else {
                throw fault("the member sdk must be a number from 1 to \(LinkedSDK.known.upperBound)")
            }
            profile = profile.linked(on: sdk)
            guard profile.hasTransportSecurity else { throw fault(profile.absence) }
        }
        if let moment = try text("at") {
            guard let parsed = Instant(argument: moment) else {
                throw fault("the member at must be a time in RFC 3339")
            }
            instant = parsed.date
        }
        if let given = try paths("ca-file") { authorities = given }
        if let given = try paths("app-anchor") { appAnchors = given }
        if let given = try paths("roots") {
            guard !given.isEmpty else { throw fault("the member roots names no file") }
            roots = given
        }
        if let given = try text("ct-log-list") { logs = path(given) }
        if let given = try text("ocsp-response") { response = path(given) }
        if let word = try text("server-trust") {
            guard let known = CertificateOptions.ServerTrust(rawValue: word) else {
                throw fault("the member server-trust must be ats or default")
            }
            serverTrust = known == .ats ? .ats : .default
        }
    }
}

/// Answers jobs one after the other, with the stores of roots and the lists of logs read once.
struct CertificateBench {
    private let now: Date
    /// By the paths of roots, of authorities and of anchors of the app.
    private let stores = BoundedCache<[[UTF8Key]], TrustAnchors>(capacity: CertificateBench.maximumStores)
    private let lists = BoundedCache<UTF8Key, CTLogList>(capacity: CertificateBench.maximumStores)

    init(now: Date) { self.now = now }

    /// The answer to one line of `--jobs`: whatever is wrong with the job, there is one.
    ///
    /// - Parameter place: file and line, for a line that is no job.
    func answer(
        line: [UInt8], at place: String, defaults: CertificateOptions, folder: URL?
    ) async -> CertificateAnswer {
        let job: CertificateJob
        var (file, host): (String?, String?)
        do throws(MalformedInput) {
            let object = try JSONReader.read(line, limits: .outside)
            (file, host) = (object.member("file")?.text, object.member("host")?.text)
            job = try CertificateJob(object: object, defaults: defaults, folder: folder)
        } catch {
            return CertificateAnswer(file: file, host: host, code: error.code, reason: "\(place): \(error.reason).")
        }
        func undetermined(_ code: Code, _ reason: String) -> CertificateAnswer {
            CertificateAnswer(file: file, host: job.host, code: code, reason: reason)
        }
        do {
            return try await answer(job, CertificateBench.chain(job.path))
        } catch let fault as CommandFault {
            return undetermined(.malformedCertificate, fault.description)
        } catch let malformed as MalformedInput {
            return undetermined(malformed.code, "\(malformed.description).")
        } catch {
            return undetermined(.malformedCertificate, "The job cannot be done.")
        }
    }

    /// - Parameter certificates: what ``chain(_:)`` reads from the job's file.
    func answer(_ job: CertificateJob, _ certificates: [[UInt8]]) async throws -> CertificateAnswer {
        let judge = CertificateJudge(
            anchors: try anchors(job),
            logs: try job.logs.flatMap { path in
                try lists.value(for: UTF8Key(path)) { try TrustOptions.logs(of: path) }
            })
        let question = CertificateJudge.Question(
            certificates: certificates,
            host: try job.host.map { text throws(MalformedInput) in try CertificateJob.host(text) },
            profile: job.profile, serverTrust: job.serverTrust,
            response: try job.response.map { try CertificateBench.response($0) })
        let report = await judge.judge(question, at: job.instant ?? now)
        return CertificateAnswer(file: job.file, host: question.host, report)
    }

    /// What a file in DER is that contains certificates and is none itself; nil for anything else.
    private static func container(_ der: [UInt8]) -> String? {
        // The version 3 of PFX (RFC 7292), the type signedData of CMS (RFC 5652), or the status of an OCSP response (RFC 6960).
        let content = content(ofSequence: der)
        if content.starts(with: [0x02, 0x01, 0x03, 0x30]) {
            return
                "is a PKCS #12 file, with a private key perhaps; take the certificates out of it: openssl pkcs12 -in FILE -nokeys -out chain.pem"
        }
        if content.starts(with: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]) {
            return
                "is a PKCS #7 file; take the certificates out of it: openssl pkcs7 -inform DER -in FILE -print_certs -out chain.pem"
        }
        if content.starts(with: [0x0A, 0x01]) {
            return "is an OCSP response; name the chain, and this file with --ocsp-response"
        }
        return content.first == 0x30 ? nil : "is DER, but no certificate"
    }

    /// What comes after the header of the outermost SEQUENCE.
    static func content(ofSequence der: [UInt8]) -> ArraySlice<UInt8> {
        der.dropFirst(2 + (der.count > 1 && der[1] > 0x80 ? Int(der[1] & 0x7F) : 0))
    }

    /// The certificates of a file, leaf first: PEM, or one in DER.
    static func chain(_ path: String) throws(CommandFault) -> [[UInt8]] {
        let certificates = try written(path)
        guard let leaf = certificates.first, let size = declaredSize(leaf), size > leaf.count else {
            return certificates
        }
        throw CommandFault(
            "\(CommandIO.name(of: path)): is cut off: its first certificate has \(leaf.count) of \(size) bytes.")
    }

    /// How long an object in DER says that it is; nil for a length of more than three bytes.
    private static func declaredSize(_ der: [UInt8]) -> Int? {
        guard der.first == 0x30, der.count > 1 else { return nil }
        guard der[1] > 0x80 else { return der[1] == 0x80 ? nil : 2 + Int(der[1]) }
        let bytes = Int(der[1] & 0x7F)
        guard 1...3 ~= bytes, der.count >= 2 + bytes else { return nil }
        return der[2..<(2 + bytes)].reduce(0) { $0 << 8 | Int($1) } + 2 + bytes
    }

    private static func written(_ path: String) throws(CommandFault) -> [[UInt8]] {
        let bytes = try CommandIO.readText(path, limit: maximumFile)
        let certificates = PEMBlocks.decode(bytes)
        if certificates.isEmpty, bytes.first == 0x30 {
            if let what = container(bytes) { throw CommandFault("\(CommandIO.name(of: path)): \(what)") }
            return [bytes]
        }
        if !certificates.isEmpty { return certificates }
        let found = pasted(bytes)
        guard found.isEmpty else { return found }
        let what: String
        if !PEMBlocks.decode(bytes, labels: ["PKCS7"]).isEmpty {
            what =
                "is a PKCS #7 file; take the certificates out of it: openssl pkcs7 -in FILE -print_certs -out chain.pem"
        } else if bytes.contains("-----BEGIN CERTIFICATE-----".utf8), !bytes.contains("-----END ".utf8) {
            what = "is cut off: its last certificate has no END line."
        } else {
            what = "contains no certificate in PEM."
        }
        throw CommandFault("\(CommandIO.name(of: path)): \(what)")
    }

    /// Certificates as they are pasted: behind blanks or marks of quotation, on one line, with `\\n` for its ends, or one
    /// without PEM in a form that ``PastedBytes`` reads.
    private static func pasted(_ bytes: [UInt8]) -> [[UInt8]] {
        let (begin, end) = (Array("-----BEGIN CERTIFICATE-----".utf8), Array("-----END".utf8))
        var found: [[UInt8]] = []
        var rest = bytes[...]
        while found.count < 64, let start = rest.firstRange(of: begin)?.upperBound,
            let stop = rest[start...].firstRange(of: end)?.lowerBound
        {
            let lines = rest[start..<stop].split(separator: UInt8(ascii: "\\"), omittingEmptySubsequences: false)
            let body = lines.enumerated().flatMap { index, line in
                index > 0 && (line.first == UInt8(ascii: "n") || line.first == UInt8(ascii: "r"))
                    ? line.dropFirst() : line
            }
            if let der = Base64.decode(body.filter { $0.isASCIIAlphanumeric || "+/=".utf8.contains($0) }) {
                found.append(der)
            }
            rest = rest[stop...].dropFirst(end.count)
        }
        guard found.isEmpty, let read = try? PastedBytes(reading: bytes, wanted: .object), !read.forms.contains("PEM"),
            read.bytes.first == 0x30, container(read.bytes) == nil
        else { return found }
        return [read.bytes]
    }

    /// The system's roots or those of `--roots`, and those of `--ca-file`.
    private func anchors(_ job: CertificateJob) throws(MalformedInput) -> TrustAnchors {
        let key = [job.roots, job.authorities, job.appAnchors].map { paths in paths.map { UTF8Key($0) } }
        let anchors = try stores.value(for: key) { () throws(MalformedInput) in
            try TrustAnchors(system: job.roots, app: job.appAnchors, installed: job.authorities)
        }
        return anchors ?? TrustAnchors()
    }

    /// DER, or PEM with the label that OpenSSL writes.
    private static func response(_ path: String) throws -> [UInt8] {
        let bytes = try CommandIO.readText(path, limit: 1 << 20)
        if bytes.first == 0x30 { return bytes }
        guard let response = PEMBlocks.decode(bytes, labels: ["OCSP RESPONSE"]).first else {
            throw CommandFault(
                "\(CommandIO.name(of: path)): is not an OCSP response; give one in DER, as openssl ocsp -respout writes it."
            )
        }
        return response
    }

    /// 64 certificates of 10 KiB, the most that are looked at, are 900 KiB in PEM.
    private static let maximumFile = 1 << 20
    private static let maximumStores = 8
}
