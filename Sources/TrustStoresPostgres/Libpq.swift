// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CLibpq
import FoundationEssentials
import Glibc
import TrustStores

/// A connection of libpq, and all calls to it. Not thread safe; ends with its owner.
///
/// Safe: libpq gives the handle once and it is freed in `deinit` alone, so it is good in every method. What a call gets to read (texts,
/// arrays) lives for the call, and libpq copies it into its buffer.
@safe final class LibpqConnection {
    private let handle: OpaquePointer
    /// Who takes the notices, which libpq would print to standard error; lives as long as the handle that names it.
    private let notices: PostgresNotices

    /// Begins to connect; nil if there is no memory for it.
    init?(_ parameters: [(String, String)], notices: PostgresNotices) {
        // Safe: the copies live until libpq has read them, and a nil ends each list.
        let words = unsafe parameters.map { unsafe (strdup($0.0), strdup($0.1)) }
        defer {
            unsafe words.forEach {
                unsafe free($0.0)
                unsafe free($0.1)
            }
        }
        let keywords = unsafe words.map { unsafe UnsafePointer($0.0) } + [nil]
        let values = unsafe words.map { unsafe UnsafePointer($0.1) } + [nil]
        guard let handle = unsafe PQconnectStartParams(keywords, values, 0) else { return nil }
        unsafe self.handle = handle
        self.notices = notices
        // Safe: `notices` lives longer than the handle, and a result is only read while libpq calls.
        unsafe PQsetNoticeReceiver(
            handle,
            { pointer, result in
                guard let pointer = unsafe pointer, let result = unsafe result else { return }
                let notices = unsafe Unmanaged<PostgresNotices>.fromOpaque(pointer).takeUnretainedValue()
                let read = unsafe LibpqResult(borrowing: result)
                // The severity that is not translated.
                notices.take(read.field("V"), ServerError(read))
            },
            Unmanaged.passUnretained(notices).toOpaque()
        )
    }

    deinit { unsafe PQfinish(handle) }

    /// Loads libpq, which the program is not linked with. Before any other call; costs nothing once it is there.
    ///
    /// - Throws: `store.configuration` with the package that brings it.
    static func load() throws {
        // Safe: a text that stays for the life of the process.
        guard let why = unsafe sealward_load_libpq() else { return }
        throw StoreFault.configuration(
            "a postgres:// store needs libpq (Debian and Ubuntu: 'apt-get install libpq5'; RHEL: 'dnf install libpq'; Amazon Linux 2023: 'dnf install libpq'): \(unsafe String(cString: why))"
        )
    }

    /// The parts of a connection string, as libpq reads it; nil if it cannot be read.
    static func options(of text: String) -> [(keyword: String, value: String)]? {
        // Safe: the list ends with an entry without a keyword, and its texts are copied before it is freed.
        guard let parsed = unsafe PQconninfoParse(text, nil) else { return nil }
        defer { unsafe PQconninfoFree(parsed) }
        var options: [(keyword: String, value: String)] = []
        var next = unsafe parsed
        while let keyword = unsafe next.pointee.keyword {
            if let value = unsafe next.pointee.val {
                unsafe options.append((String(cString: keyword), String(cString: value)))
            }
            unsafe next += 1
        }
        return options
    }

    /// Whether libpq can be asked which proofs of the password it accepts: since version 16.
    static var knowsRequireAuth: Bool { PQlibVersion() >= 160_000 }

    // MARK: Its state

    var status: ConnStatusType { unsafe PQstatus(handle) }
    var socket: Int32 { unsafe PQsocket(handle) }
    var processNumber: Int32 { unsafe PQbackendPID(handle) }
    /// Whether the next result would have to be waited for.
    var isBusy: Bool { unsafe PQisBusy(handle) == 1 }
    /// What went wrong last; empty if nothing did.
    var message: String { unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? "" }

    // MARK: Calls, which say whether libpq could do them

    func goOnConnecting() -> PostgresPollingStatusType { unsafe PQconnectPoll(handle) }
    func stopWaiting() -> Bool { unsafe PQsetnonblocking(handle, 1) == 0 }
    func consumeInput() -> Bool { unsafe PQconsumeInput(handle) == 1 }
    /// 0 if everything is sent, 1 if something is left, as libpq says it.
    func flush() -> Int32 { unsafe PQflush(handle) }
    func send(script text: String) -> Bool { unsafe PQsendQuery(handle, text) == 1 }
    func prepare(_ name: String, _ text: String, _ types: [Oid]) -> Bool {
        unsafe PQsendPrepare(handle, name, text, Int32(types.count), types) == 1
    }

    /// Sends the execution of a prepared statement.
    func execute(_ name: String, _ arguments: PostgresArguments) -> Bool {
        // One buffer for all, so that the pointers stay good for the call.
        let values = arguments.values
        let joined = values.flatMap { $0 ?? [] }
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        // Safe: the places are inside of `joined`, whose length is the sum of theirs; of the place of an empty value nothing is read.
        return unsafe joined.withUnsafeBytes { buffer in
            var offset = 0
            let empty = unsafe UnsafeRawPointer(bitPattern: 1)
            let pointers = unsafe values.map { value -> UnsafePointer<CChar>? in
                guard let value else { return nil }
                defer { offset += value.count }
                let place = unsafe buffer.baseAddress.map { unsafe $0 + offset } ?? empty
                return unsafe place?.assumingMemoryBound(to: CChar.self)
            }
            return unsafe PQsendQueryPrepared(handle, name, Int32(values.count), pointers, lengths, formats, 1) == 1
        }
    }

    /// The next answer; nil after the last one to what was sent.
    func nextResult() -> LibpqResult? { unsafe PQgetResult(handle).map { unsafe LibpqResult(owning: $0) } }
}

/// What the server answered to one statement.
///
/// Safe: libpq gives the pointer to one owner, and it is freed in `deinit` alone. libpq itself checks rows and columns, and every text
/// is copied before the method ends.
@safe final class LibpqResult {
    private let pointer: OpaquePointer
    private let isOwned: Bool

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
        isOwned = true
    }

    /// A result that libpq frees itself, for the time of a call from it.
    init(borrowing pointer: OpaquePointer) {
        unsafe self.pointer = pointer
        isOwned = false
    }

    deinit { if isOwned { unsafe PQclear(pointer) } }

    var status: ExecStatusType { unsafe PQresultStatus(pointer) }

    /// A part of a message, by the letter of the protocol: V the severity, C the five characters of SQLSTATE, M the message.
    func field(_ letter: Unicode.Scalar) -> String? {
        unsafe PQresultErrorField(pointer, Int32(letter.value)).map { unsafe String(cString: $0) }
    }

    /// What the server says it did, such as `COMMIT`.
    var tag: String { unsafe PQcmdStatus(pointer).map { unsafe String(cString: $0) } ?? "" }

    /// The answer to a prepared statement, whose rows have the server's binary form.
    var answer: SQLResult {
        let columns = unsafe PQnfields(pointer)
        let rows = unsafe (0..<PQntuples(pointer)).map { row in SQLRow((0..<columns).map { value(row, $0) }) }
        let changes = unsafe PQcmdTuples(pointer).flatMap { unsafe Int(String(cString: $0)) } ?? 0
        return (rows, changes)
    }

    /// The first row of the answer to a script, as text.
    var firstRowAsText: [String?] {
        guard unsafe PQntuples(pointer) > 0 else { return [] }
        return unsafe (0..<PQnfields(pointer)).map { column in
            guard unsafe PQgetisnull(pointer, 0, column) == 0 else { return nil }
            return unsafe PQgetvalue(pointer, 0, column).map { unsafe String(cString: $0) }
        }
    }

    private func value(_ row: Int32, _ column: Int32) -> SQLValue {
        guard unsafe PQgetisnull(pointer, row, column) == 0, let start = unsafe PQgetvalue(pointer, row, column)
        else { return .null }
        let length = unsafe Int(PQgetlength(pointer, row, column))
        // Safe: libpq says how many bytes the value has, and keeps it until the result is freed.
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length)
        switch unsafe PQftype(pointer, column) {
        case PostgresType.int8, PostgresType.int4, PostgresType.int2:
            let isNegative = unsafe (bytes.first ?? 0) & 0x80 != 0
            return unsafe .integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
        case PostgresType.bytea: return unsafe .bytes(Array(bytes))
        default: return unsafe .text(String(decoding: bytes, as: UTF8.self))
        }
    }
}
