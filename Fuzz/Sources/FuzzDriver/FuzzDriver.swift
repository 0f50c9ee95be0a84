// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if LIBFUZZER
    @_silgen_name("LLVMFuzzerRunDriver")
    private func runDriver(
        _ count: UnsafeMutablePointer<Int32>,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    ) -> Int32

    nonisolated(unsafe) private var target: ([UInt8]) -> Void = { _ in }
#endif

/// Feeds a target with inputs. A crash ends the process, which is the finding; the same seed finds it again.
public enum FuzzDriver {
    /// Runs until the time is over: `PROGRAM [CORPUS...] [--seconds 60] [--seed 1]`.
    ///
    /// - Parameter corpus: the folder in `Corpus` that is taken where none is named.
    public static func run(corpus: String, _ body: @escaping ([UInt8]) -> Void) -> Never {
        #if LIBFUZZER
            target = body
            var count = CommandLine.argc
            var arguments = CommandLine.unsafeArgv
            exit(
                runDriver(&count, &arguments) { bytes, length in
                    target(Array(UnsafeBufferPointer(start: bytes, count: length)))
                    return 0
                }
            )
        #else
            loop(corpus, body)
        #endif
    }

    /// Our own loop, for toolchains without libFuzzer: the corpus as it is, and then mutations of it, the same for the same seed.
    private static func loop(_ name: String, _ body: ([UInt8]) -> Void) -> Never {
        var folders: [String] = []
        var (seconds, seed): (Double, UInt64) = (60, 1)
        var rest = CommandLine.arguments.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "--seconds": seconds = rest.popFirst().flatMap(Double.init) ?? seconds
            case "--seed": seed = rest.popFirst().flatMap(UInt64.init) ?? seed
            default: folders.append(argument)
            }
        }
        if folders.isEmpty { folders = ["Corpus/\(name)", "Fuzz/Corpus/\(name)"] }
        let corpus = folders.flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().compactMap { name in
                (try? Data(contentsOf: URL(fileURLWithPath: folder).appending(path: name))).map { [UInt8]($0) }
            }
        }
        guard !corpus.isEmpty else {
            print("no inputs found. usage: PROGRAM [CORPUS...] [--seconds 60] [--seed 1]")
            exit(64)
        }
        for input in corpus { body(input) }
        var mutator = Mutator(seed: seed, corpus: corpus)
        let end = ContinuousClock.now + .seconds(seconds)
        var count = corpus.count
        while ContinuousClock.now < end {
            for _ in 0..<1000 {
                body(mutator.next())
                count += 1
            }
        }
        print("\(count) inputs in \(Int(seconds)) s, seed \(seed), no crash")
        exit(0)
    }
}

/// Makes inputs from the corpus: flips, cuts, repeats, splices, and lengths that lie.
struct Mutator {
    private var state: UInt64
    private let corpus: [[UInt8]]

    init(seed: UInt64, corpus: [[UInt8]]) {
        state = seed
        self.corpus = corpus
    }

    private mutating func random(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return bound > 0 ? Int((value ^ (value >> 31)) % UInt64(bound)) : 0
    }

    mutating func next() -> [UInt8] {
        var input = corpus[random(corpus.count)]
        for _ in 0...random(4) { mutate(&input) }
        return Array(input.prefix(1 << 17))
    }

    private mutating func mutate(_ input: inout [UInt8]) {
        guard !input.isEmpty else { return input.append(UInt8(random(256))) }
        let place = random(input.count)
        let length = min(random(64) + 1, input.count - place)
        switch random(8) {
        case 0: input[place] ^= 1 << UInt8(random(8))
        case 1: input[place] = UInt8(random(256))
        case 2:
            input[place] = [0x00, 0x7F, 0x80, 0x81, 0x82, 0x84, 0x88, 0xFF, 0x5B, 0x9B, 0xBB, 0x30, 0x24][random(13)]
        case 3: input.removeSubrange(place..<(place + length))
        case 4: input.insert(contentsOf: input[place..<(place + length)], at: place)
        case 5: input.removeLast(min(input.count, random(input.count)))
        case 6: input.insert(contentsOf: (0..<length).map { _ in UInt8(random(256)) }, at: place)
        default:
            let other = corpus[random(corpus.count)]
            let start = random(other.count)
            input.replaceSubrange(place..., with: other[start..<min(other.count, start + random(4096))])
        }
    }
}
