// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import SimulatedFleet

struct DemoCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run both halves of the product end to end on this machine.",
        discussion: """
            Starts flawed HTTPS servers and checks them, then simulated Apple, the trust service on SQLite and 200 simulated devices. Needs \
            no arguments, no network and less than a minute, and leaves nothing behind. Exit status 0: everything went as it should.

            With --open it ends with the address of the console, a page that shows what the service sees, and stays until Ctrl-C.

            Example: sealward demo
            """
    )

    @Option(help: .value("How many devices.", "N"))
    var devices = 200

    @Flag(help: "Stay at the end, with the console in a browser, until Ctrl-C.")
    var open = false

    @OptionGroup var shared: SharedOptions

    mutating func validate() throws {
        guard (1...1_000_000).contains(devices) else { throw ValidationError("--devices must be 1 to 1000000.") }
    }

    func outcome() async throws -> Outcome {
        let start = ContinuousClock.now
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "sealward-demo-\(UUID().uuidString)"
        ).path
        do {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: attributes)
        } catch {
            throw CommandFault("\(folder): cannot be created; set TMPDIR to a writable folder.")
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }

        var page = DemoPage { [output = shared.output] in
            if output == nil { OutputFile.standardOutput.say($0.fitted) }
        }
        var isGood = true
        do {
            page.heading("1. The app checks its servers (App Transport Security)")
            let rows = try await DemoServers.check(in: folder, now: Date())
            page.table([["server", "flaw", "default", "first cause"]] + rows.map(\.cells))
            page.line("")
            page.line("  \(DemoServers.exceptions(rows))")
            isGood = rows.count == 6 && rows.allSatisfy(\.isAsExpected)
            page.heading("2. The server checks its apps (App Attest and DeviceCheck)")
            let service = DemoService(folder: folder, devices: devices)
            let progress = ProgressLine(of: devices, quiet: shared.quiet)
            let stay: DemoService.Staying? = open ? { _ = try await Interruption.run($0) } : nil
            isGood = try await service.run(&page, stay: stay) { progress?.advance() } && isGood
        } catch let fault as FleetFault {
            throw CommandFault("\(fault.description).")
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        page.line("")
        page.line(
            "\(isGood ? "Everything went as it should" : "Something did NOT go as it should"), in \(FleetTally.decimal(seconds)) s."
        )
        if let output = shared.output { try CommandIO.write(page.text.fitted, to: output) }
        return isGood ? .clean : .findings
    }
}
