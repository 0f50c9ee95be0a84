// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import FoundationEssentials
import Glibc
import Vocabulary

/// How a command ends, whatever its format: the numbers are part of the contract.
enum Outcome: Int32 {
    /// Clean, PASS, accepted.
    case clean = 0
    /// Findings, FAIL, refused.
    case findings = 1
    /// It could not be determined or done.
    case undetermined = 2

    /// The outcome of several judgements: FAIL beats undetermined.
    init(fails: Bool, isUndetermined: Bool) {
        self = fails ? .findings : isUndetermined ? .undetermined : .clean
    }

    /// Ends the command with this status without printing anything more.
    func exit() throws {
        if self != .clean { throw ExitCode(rawValue) }
    }
}

/// A fault that ends a command with status 2 and one sentence on standard error.
struct CommandFault: Error, CustomStringConvertible {
    let description: String

    init(_ sentence: String) { description = sentence }

    /// The sentence without its full stop, for a place inside of another.
    var reason: String { description.hasSuffix(".") ? String(description.dropLast()) : description }
}

/// The streams of a command: data on standard output or in a file, everything else on standard error.
enum CommandIO {
    /// Writes a sentence for people to standard error. Names of files come from outside: what they contain begins no line.
    static func say(_ sentence: String) { write(lines(sentence)) }

    /// Writes several lines for people to standard error, for words that are ours.
    ///
    /// - Parameter fitted: whether long lines are broken for a terminal; not for words that were.
    static func say(page: String, fitted: Bool = true) {
        let lines = SecretText.withoutCredentials(page).utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        write(ended(lines.map { line(String(decoding: $0, as: UTF8.self)) }.joined(separator: "\n"), fitted: fitted))
    }

    /// What ``say(_:)`` writes, with the end of its line.
    static func lines(_ sentence: String) -> String {
        ended(line(SecretText.withoutCredentials(sentence)), fitted: true)
    }

    private static func ended(_ lines: String, fitted: Bool) -> String {
        (fitted && isatty(STDERR_FILENO) == 1 ? lines.fitted : lines).commandSafe + "\n"
    }

    /// One line, safe for a terminal: two colons at its start mean that the name of a file does not begin it.
    private static func line(_ text: String) -> String {
        let safe = text.terminalSafe
        return safe.utf8.drop { $0 == 0x20 }.starts(with: "::".utf8) ? "sealward: " + safe : safe
    }

    private static func write(_ lines: String) {
        if let capture = CommandCapture.current { return capture.add(note: lines) }
        OutputFile.standardError.say(lines)
    }

    /// How long the last lines of a log may take to be written before the program ends without them.
    static let lastWords = Duration.seconds(2)

    /// Writes text to `path`, or to standard output where no path is given. Nothing in it is a command for a build machine.
    ///
    /// - Parameter replacesInput: the file may be one that the command has read, and is written anew.
    static func write(_ text: String, to path: String?, replacesInput: Bool = false) throws {
        try write(Array(text.commandSafe.utf8), to: path, replacesInput: replacesInput)
    }

    /// Writes bytes as they are to `path`, or to standard output where no path is given.
    static func write(_ bytes: [UInt8], to path: String?, replacesInput: Bool = false) throws {
        let stream = try ResultStream(path: path, replacesInput: replacesInput)
        try stream.write(bytes)
        try stream.close()
    }

    /// What an input is called in a sentence.
    static func name(of path: String) -> String {
        path == "-" ? "standard input" : path.isEmpty ? "''" : path
    }

    /// Where the file of an input is found, for what must not be overwritten: a shell may have put a file in the place of standard input.
    static func place(of path: String) -> String { path == "-" ? "/dev/stdin" : path }

    /// Reads a whole file, or standard input for `-`. Only regular files and the streams of ``InputFile`` are opened.
    ///
    /// - Parameter limit: the most bytes that are read; a longer input is a fault and is never held in memory.
    static func read(_ path: String, limit: Int = 64 << 20) throws(CommandFault) -> [UInt8] {
        try named(path) { () throws(InputFault) in
            let bytes = try input(path).contents(limit: limit)
            if bytes.count > limit { throw tooLarge(limit) }
            return bytes
        }
    }

    /// Reads a whole file of text: UTF-8, without the byte order mark that it may begin with. Files in DER pass through as they are.
    static func readText(_ path: String, limit: Int = 64 << 20) throws(CommandFault) -> [UInt8] {
        let bytes = try read(path, limit: limit)
        return try named(path) { () throws(InputFault) in try TextFileEncoding.text(bytes) }
    }

    /// The lines of a file of text, which is read as ``readText(_:limit:)`` reads it, but in pieces as they are asked for.
    static func lines(of path: String, limit: Int) throws(CommandFault) -> LineReader {
        let file = try named(path) { () throws(InputFault) in try input(path) }
        var total = 0
        return LineReader { (_, count) throws(InputFault) in
            let piece = try file.next(count)
            if piece.count > limit - total { throw tooLarge(limit) }
            defer { total += piece.count }
            return total == 0 ? try TextFileEncoding.text(piece) : piece
        }
    }

    private static func input(_ path: String) throws(InputFault) -> InputFile {
        path == "-" ? try InputFile.standardInput() : try InputFile.open(path)
    }

    private static func tooLarge(_ limit: Int) -> InputFault {
        InputFault("is larger than \(limit) bytes, the limit for this input")
    }

    /// Reads a file of text and makes a value of it; a fault names the file.
    static func value<Value>(
        of path: String, limit: Int = 64 << 20, _ make: ([UInt8]) throws(MalformedInput) -> Value
    ) throws(CommandFault) -> Value {
        let bytes = try readText(path, limit: limit)
        return try named(path) { () throws(MalformedInput) in try make(bytes) }
    }

    /// Names the file in a fault, unless a token was given in place of its name.
    static func named<Value, Fault: Error & CustomStringConvertible>(
        _ path: String, _ body: () throws(Fault) -> Value
    ) throws(CommandFault) -> Value {
        do throws(Fault) {
            return try body()
        } catch {
            let name = SecretText.isToken(path) ? "(a token in place of a file, not shown)" : name(of: path)
            throw CommandFault("\(name): \(error.description).")
        }
    }

    /// Reads what the command line says: what is malformed is wrong usage.
    ///
    /// - Parameter option: its name, for the error; nil for a word without one.
    static func argument<Value>(
        _ option: String? = nil, _ read: () throws(MalformedInput) -> Value
    ) throws(ValidationError) -> Value {
        do throws(MalformedInput) {
            return try read()
        } catch {
            throw ValidationError((option.map { "\($0): " } ?? "") + "\(error.description).")
        }
    }

    /// Reads a file that holds one token: printable ASCII without spaces, and white space around it.
    static func token(_ path: String, kind: String) throws(CommandFault) -> String {
        let bytes = try readText(path, limit: 64 << 10)
        SecretFiles.warn(path)
        return try token(String(decoding: bytes, as: UTF8.self), of: path, kind: kind)
    }

    /// The token in the text of a file that was read already.
    static func token(_ text: String, of path: String, kind: String) throws(CommandFault) -> String {
        let (name, token) = (name(of: path), text.trimmed())
        guard !token.isEmpty else { throw CommandFault("\(name): is empty; write the \(kind) there.") }
        guard token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw CommandFault("\(name): contains no \(kind): that is one line without spaces.")
        }
        return token
    }

    /// Whether color may be used on standard output: a terminal, and neither `NO_COLOR` nor `TERM=dumb`.
    static func mayColor(disabled: Bool) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        return !disabled && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
            && isatty(STDOUT_FILENO) == 1
    }

    /// The columns that text for people may take: as many as `COLUMNS` says, else those of the terminal and at most 100; never less than 60.
    static let columns: Int = {
        if let stated = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), stated > 0 {
            return max(60, stated)
        }
        var size = winsize()
        // Safe: the call fills the structure of its request, which is ours and lives on.
        let isTerminal = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return isTerminal ? min(100, max(60, Int(size.ws_col))) : 100
    }()

    /// Runs the body of a command and turns faults into one sentence and status 2.
    static func run(_ body: () async throws -> Outcome) async throws {
        let outcome: Outcome
        do {
            outcome = try await body()
        } catch let exit as ExitCode {
            throw exit
        } catch let fault as CommandFault {
            say("sealward: \(fault.description.terminalSafe)")
            outcome = .undetermined
        } catch let malformed as MalformedInput {
            say("sealward: \(malformed.description.terminalSafe).")
            outcome = .undetermined
        }
        try outcome.exit()
    }
}

extension String {
    /// The text with its sentences broken so that they fit ``CommandIO/columns``; what is captured is broken by its reader.
    var fitted: String { CommandCapture.current == nil ? wrapped(to: CommandIO.columns) : self }
}
