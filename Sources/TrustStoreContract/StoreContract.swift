// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustStores

/// What every `TrustStore` promises, as cases that a test runs against your own store.
///
///     @Test(arguments: StoreContract.cases)
///     func contract(_ promise: StoreContract.Case) async throws {
///         try await promise.run {
///             let clock = FixtureClock()
///             let database = try await Database.temporary()
///             return StoreFixture(store: MyStore(database, clock), clock: clock) { MyStore(database, clock) }
///         }
///     }
///
/// Any test framework will do, or none: a broken promise is a thrown ``ContractViolation``.
public enum StoreContract {
    /// One promise.
    public struct Case: Sendable, CustomStringConvertible {
        /// What is promised, in one sentence.
        public let description: String
        private let body: @Sendable (StoreFixture) async throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (StoreFixture) async throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Tries the promise.
        ///
        /// - Parameter make: opens an empty store.
        /// - Throws: ``ContractViolation``, and what `make` or the store throws.
        public func run(_ make: @escaping @Sendable () async throws -> StoreFixture) async throws {
            do {
                try await body(try await make())
            } catch let violation as ContractViolation {
                throw ContractViolation("\(description): \(violation.description)")
            }
        }
    }

    /// Every promise, in the order of the verbs of the store.
    public static let cases =
        spending + quotas + counters + keys + receipts + events + operators + revocations + promotions + clocks

    /// A promise for each of some values.
    static func each<Value: Sendable>(
        _ description: String, of values: [Value],
        _ body: @escaping @Sendable (StoreFixture, Value) async throws -> Void
    ) -> [Case] {
        values.map { value in Case("\(description) (\(value))") { try await body($0, value) } }
    }
}

/// A promise that a store did not keep.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// What was expected and what was found, with the place in the contract.
    public let description: String

    init(_ description: String) { self.description = description }
}

func expect(
    _ condition: Bool, _ comment: String = "", file: StaticString = #fileID, line: UInt = #line
) throws(ContractViolation) {
    if !condition { throw ContractViolation("\(file):\(line): does not hold\(comment.isEmpty ? "" : ": ")\(comment)") }
}

func expect<Value: Equatable>(
    _ value: Value, is expected: Value, _ comment: String = "", file: StaticString = #fileID, line: UInt = #line
) throws(ContractViolation) {
    if value == expected { return }
    throw ContractViolation(
        "\(file):\(line): is \(value) and must be \(expected)\(comment.isEmpty ? "" : ": ")\(comment)")
}

func expect<Fault: Error & Equatable>(
    throws expected: Fault, file: StaticString = #fileID, line: UInt = #line, _ body: () async throws -> some Any
) async throws(ContractViolation) {
    do {
        _ = try await body()
    } catch let fault as Fault where fault == expected {
        return
    } catch {
        throw ContractViolation("\(file):\(line): throws \(error) and must throw \(expected)")
    }
    throw ContractViolation("\(file):\(line): must throw \(expected)")
}

func require<Value>(
    _ value: Value?, file: StaticString = #fileID, line: UInt = #line
) throws(ContractViolation) -> Value {
    guard let value else { throw ContractViolation("\(file):\(line): is nil") }
    return value
}
