// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

// Numbers of media players and web views, which load for an app and have their own error domains.
//
// Sources: AVError.h; WebKitErrors.h and WebKit's sources. Apple documents no number of CoreMedia: those here are known from
// their text (AVPlayerItemErrorLogEvent.errorComment), each in two independent public logs.
extension ErrorNumber {
    private init(player number: Int, _ name: String, _ sentence: String, _ meaning: String, _ cause: Code) {
        self.init(
            domain: .player, number: number, name: "AVError" + name, sentence: sentence, meaning: meaning,
            others: [cause])
    }

    private init(coreMedia number: Int, _ comment: String, _ cause: Code = .httpMedia) {
        self.init(domain: .coreMedia, number: number, name: "CoreMedia error", sentence: comment, others: [cause])
    }

    private init(
        webKit number: Int, _ name: String, _ sentence: String, _ meaning: String, _ others: [Code] = [.httpWebRule]
    ) {
        self.init(
            domain: .webKit, number: number, name: "WebKitError" + name, sentence: sentence, meaning: meaning,
            others: others)
    }

    /// The errors of AVFoundationErrorDomain and CoreMediaErrorDomain that have to do with loading.
    package static let playerErrors: [ErrorNumber] = [
        ErrorNumber(
            player: -11800, "Unknown", "The operation could not be completed",
            "AVFoundation hides the error beneath: NSUnderlyingError and the number in brackets have it. -1022 there is ATS, and NSAllowsArbitraryLoadsForMedia its key for media; -1200 and -1202 are TLS and the certificate; another number is the media itself",
            .causeNotSaid),
        ErrorNumber(
            player: -11828, "FileFormatNotRecognized", "This media format is not supported.",
            "the answer is nothing that the player knows: a wrong Content-Type or file extension, a web page, a codec that is missing; not ATS",
            .httpMedia),
        ErrorNumber(
            player: -11829, "FileFailedToParse", "This media may be damaged.",
            "the file is damaged, or a cache or proxy in the app gives the player another length than the file has; not ATS",
            .httpMedia),
        ErrorNumber(
            player: -11850, "ServerIncorrectlyConfigured", "The server is not correctly configured.",
            "the server does not answer requests for ranges as the player needs it; not ATS", .httpMedia),
        ErrorNumber(coreMedia: -12642, "Playlist parse error"),
        ErrorNumber(coreMedia: -12660, "HTTP 403: Forbidden"),
        ErrorNumber(coreMedia: -12880, "Can not proceed after removing variants", .causeNotSaid),
        ErrorNumber(coreMedia: -12888, "Playlist File unchanged"),
        ErrorNumber(coreMedia: -12938, "HTTP 404: File Not Found"),
        ErrorNumber(coreMedia: -12939, "byte range and no content length, or another range than was asked for"),
        // One record each.
        ErrorNumber(coreMedia: -12937, "HTTP 401 or 407: Authentication Error"),
        ErrorNumber(coreMedia: -16840, "HTTP 401: Unauthorized"),
    ]

    /// The errors of WebKitErrorDomain that have to do with loading.
    package static let webKitErrors: [ErrorNumber] = [
        ErrorNumber(
            webKit: 101, "CannotShowURL", "The URL can\u{2019}t be shown",
            "the URL is malformed, or has a scheme that the web view does not load; not ATS"),
        ErrorNumber(
            webKit: 102, "FrameLoadInterruptedByPolicyChange", "Frame load interrupted",
            "the app's own navigation delegate cancelled the navigation, or it became a download or a URL for another app; not ATS"
        ),
        ErrorNumber(
            webKit: 105, "FrameLoadBlockedByContentFilter", "The URL was blocked by a content filter",
            "a content filter or Screen Time blocked the URL; not ATS"),
        ErrorNumber(
            webKit: 204, "PlugInWillHandleLoad", "Plug-in handled load",
            "the web view gave the media to its player: nothing failed", []),
    ]
}
