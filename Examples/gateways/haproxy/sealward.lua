-- Asks the trust service about a request; HAProxy 2.5 or later.
local authorize = "http://127.0.0.1:8080/v1/authorize?app=shop"
local names = { "x-sealward-app", "x-sealward-environment", "x-sealward-key", "x-sealward-tier" }

core.register_action("sealward", { "http-req" }, function(txn)
    local asked = { ["x-forwarded-for"] = { txn.f:src() } }
    local headers = txn.http:req_get_headers()
    for _, name in ipairs { "authorization", "x-firebase-appcheck" } do
        local sent = headers[name]
        if sent then
            asked[name] = {}
            for place = 0, #sent do table.insert(asked[name], sent[place]) end
        end
    end
    local answer = core.httpclient():get { url = authorize, headers = asked, timeout = 5000 }
    if answer.status == 204 then
        for _, name in ipairs(names) do txn.http:req_set_header(name, answer.headers[name][0]) end
        return
    end
    local known = answer.status and answer.status >= 400 and answer.status < 600
    local reply = txn:reply { status = known and answer.status or 503, body = known and answer.body or "" }
    for _, name in ipairs { "content-type", "retry-after", "www-authenticate" } do
        local values = known and answer.headers and answer.headers[name]
        if values then reply:add_header(name, values[0]) end
    end
    txn:done(reply)
end)
