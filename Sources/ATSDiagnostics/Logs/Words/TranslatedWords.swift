// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Apple's sentences for numbers in other languages, for texts in which only the sentence was copied.
///
/// Parts of them, which are in the translations of several systems. ASCII letters match in either case, all others as they stand.
enum TranslatedWords {
    static let all: [LogPhrase] = parts.flatMap { number, words in
        words.map { LogPhrase($0, .system, [], urlError: number) }
    }

    private static let parts: [(Int, [String])] = [
        (
            -1022,
            [
                "要求使用安全连接", "要求使用安全連線", "App Transport Securityポリシー", "App Transport Security ポリシー",
                "App Transport Security 정책", "앱 전송 보안 정책", "App-Transport-Security-Richtlinie",
                "App Transport Security-Richtlinie", "App-Transport-Sicherheitsrichtlinie",
                "politique App Transport Security", "règles App Transport Security", "règle App Transport Security",
                "política App Transport Security", "política de App Transport Security",
                "política do App Transport Security", "App Transport Security exige", "App Transport Security requiert",
                "App Transport Security requiere", "App Transport Security requer", "App Transport Security richiede",
                "политика App Transport Security", "политики App Transport Security",
                "политикой App Transport Security", "App Transport Security требует",
                "App Transport Security-beleid", "App Transport Security vereist", "App Transport Security kräver",
                "App Transport Security wymaga",
            ]
        ),
        (
            -1200,
            [
                "错误导致安全连接失败", "无法建立与该服务器的安全连接", "錯誤導致安全連線失敗", "無法與伺服器建立安全的連線",
                "無法建立與伺服器的安全連線", "SSLエラーが起きたため", "SSLエラーが発生したため", "TLSエラーによって",
                "TLSエラーにより", "SSL 오류가 발생하여", "SSL 오류가 발생했으며", "TLS 오류로 인해",
                "Es ist ein SSL-Fehler aufgetreten", "Ein SSL-Fehler ist aufgetreten", "Ein TLS-Fehler hat",
                "Une erreur SSL s", "Une erreur TLS a", "un error SSL y no", "un error de SSL y no", "Un error de TLS",
                "Un error TLS", "um erro de SSL e não", "um erro SSL e não", "Um erro de TLS", "Um erro TLS",
                "un errore SSL e non", "Un errore TLS", "шибка SSL, и ", "шибка SSL. Не", "шибка TLS привела",
                "евозможно установить безопасное соединение", "евозможно установить защищенное соединение",
                "не удается установить безопасное соединение", "не удалось установить безопасное соединение",
                "сбою безопасного соединения",
                "SSL-fout opgetreden", "Een TLS-fout",
            ]
        ),
        (
            -1202,
            [
                "服务器的证书无效", "伺服器的憑證無效", "サーバの証明書は無効です", "サーバーの証明書は無効です",
                "이 서버에 대한 인증서가 유효하지", "이 서버의 인증서가 유효하지", "이 서버에 대한 인증서가 잘못",
                "이 서버의 인증서가 잘못", "Zertifikat für diesen Server ist ungültig",
                "certificat de ce serveur n", "certificat pour ce serveur n", "certificado de este servidor no es",
                "certificado para este servidor no es", "certificado para este servidor é inv",
                "certificado deste servidor é inv", "certificato per questo server non",
                "certificato di questo server non",
                "ертификат этого сервера недействителен", "ертификат для этого сервера недействителен",
                "certificaat voor deze server is ongeldig",
            ]
        ),
        (-1001, ["请求超时。", "要求逾時。", "要求がタイムアウトになりました", "Zeitüberschreitung bei der Anforderung"]),
        (-1003, ["未能找到使用指定主机名的服务器", "指定したホスト名のサーバが見つかりませんでした"]),
        (-1004, ["未能连接到服务器", "サーバに接続できませんでした"]),
        (-1005, ["网络连接已中断", "ネットワーク接続が切れました", "Die Netzwerkverbindung wurde unterbrochen"]),
        (
            -1009,
            [
                "似乎已断开与互联网的连接", "互联网连接似乎处于脱机状态", "インターネット接続がオフラインのようです",
                "Es besteht anscheinend keine Verbindung zum Internet", "La connexion Internet semble interrompue",
                "La connexion Internet semble être hors",
                "conexión a Internet está desactivada",
            ]
        ),
    ]
}
