// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

// Numbers of what loads for an app and gives errors of its own: players of media, and web views.
//
// Sources: AVError.h and WWDC 2017, session 514; WebKitErrors.h and WebKit's sources. Apple documents no number of CoreMedia: those here are known by
// the text that stands beside them (AVPlayerItemErrorLogEvent.errorComment), each in two independent public logs but where another number is named.
extension ErrorNumber {
    /// The row of an error of AVFoundation or CoreMedia; nil for numbers that are not known.
    package static func player(_ number: Int) -> ErrorNumber? { playerErrors.first { $0.number == number } }

    /// The row of an error of WebKit; nil for numbers that are none.
    package static func webKit(_ number: Int) -> ErrorNumber? { webKitErrors.first { $0.number == number } }

    private init(player number: Int, _ name: String, _ sentence: String, _ meaning: String, _ cause: Code) {
        self.init(
            domain: .player, number: number, name: "AVError" + name, sentence: sentence, meaning: meaning, others: [cause])
    }

    private init(coreMedia number: Int, _ comment: String, _ meaning: String, _ cause: Code = .httpMedia) {
        self.init(
            domain: .coreMedia, number: number, name: comment, sentence: comment, meaning: meaning, others: [cause])
    }

    private init(webKit number: Int, _ name: String, _ sentence: String, _ meaning: String) {
        self.init(
            domain: .webKit, number: number, name: "WebKitError" + name, sentence: sentence, meaning: meaning + "; not ATS",
            others: [.httpWebRule])
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
            player: -11849, "FailedToLoadMediaData", "the media data could not be loaded",
            "a part of the media did not load; NSUnderlyingError says why", .causeNotSaid),
        ErrorNumber(
            player: -11850, "ServerIncorrectlyConfigured", "The server is not correctly configured.",
            "the server does not answer requests for ranges as the player needs it; not ATS", .httpMedia),
        ErrorNumber(
            player: -11853, "FailedToParse", "the playlist could not be parsed",
            "the playlist, a key or the session data has a form that the player refuses; not ATS", .httpMedia),
        ErrorNumber(
            player: -11863, "ContentIsUnavailable", "the content is not available",
            "a network error, a status 4xx or 5xx, or no answer in time; AVPlayerItem.errorLog() and NSUnderlyingError say which",
            .causeNotSaid),
        ErrorNumber(
            player: -11866, "ContentNotUpdated", "the content was not updated",
            "the playlist of the live stream was not renewed in time; not ATS", .httpMedia),
        ErrorNumber(
            player: -11867, "NoLongerPlayable", "the content can no longer be played",
            "a network error, a status 4xx or 5xx, or no answer in time; AVPlayerItem.errorLog() and NSUnderlyingError say which",
            .causeNotSaid),
        ErrorNumber(
            coreMedia: -12642, "Playlist parse error",
            "the playlist, or what came in its place, cannot be used; not ATS"),
        ErrorNumber(coreMedia: -12660, "HTTP 403: Forbidden", "the server refuses the media with status 403; not ATS"),
        ErrorNumber(
            coreMedia: -12880, "Can not proceed after removing variants",
            "each variant of the stream failed; AVPlayerItem.errorLog() says why", .causeNotSaid),
        ErrorNumber(
            coreMedia: -12888, "Playlist File unchanged",
            "the playlist of the live stream was not renewed in time; not ATS"),
        ErrorNumber(
            coreMedia: -12937, "Authentication Error", "the server answers 401, or a proxy 407 (one record); not ATS"),
        ErrorNumber(
            coreMedia: -12938, "HTTP 404: File Not Found", "the server has no such media (status 404); not ATS"),
        ErrorNumber(
            coreMedia: -12939, "byte range and no content length",
            "the server's answer to a request for a range lacks Content-Length, or has another range; not ATS"),
        ErrorNumber(
            coreMedia: -16840, "HTTP 401: Unauthorized",
            "the server asks for a sign-in, status 401 (one record); not ATS"),
    ]

    /// The errors of WebKitErrorDomain that have to do with loading.
    package static let webKitErrors: [ErrorNumber] = [
        ErrorNumber(
            webKit: 100, "CannotShowMIMEType", "Content with specified MIME type can\u{2019}t be shown",
            "the web view does not show content of this type"),
        ErrorNumber(
            webKit: 101, "CannotShowURL", "The URL can\u{2019}t be shown",
            "the URL is malformed, or has a scheme that the web view does not load"),
        ErrorNumber(
            webKit: 102, "FrameLoadInterruptedByPolicyChange", "Frame load interrupted",
            "the app's own navigation delegate cancelled the navigation, or it became a download or a URL for another app"
        ),
        ErrorNumber(
            webKit: 103, "CannotUseRestrictedPort", "Not allowed to use restricted network port",
            "web views load nothing from this port"),
        ErrorNumber(
            webKit: 104, "FrameLoadBlockedByContentBlocker", "The URL was blocked by a content blocker",
            "a content blocker blocked the URL"),
        ErrorNumber(
            webKit: 105, "FrameLoadBlockedByContentFilter", "The URL was blocked by a content filter",
            "a content filter or Screen Time blocked the URL"),
        ErrorNumber(
            webKit: 204, "PlugInWillHandleLoad", "Plug-in handled load",
            "the web view gave the media to its player: nothing failed"),
    ]
}
