# Two functions that the tours use. A shell sources this file after .run/env, which `make run` writes.

# token EMAIL PASSWORD: signs in and prints the access token.
token() {
    curl -s "$BASE_URL/auth/v1/token" -H 'Content-Type: application/json' \
        -d "{\"email\":\"$1\",\"password\":\"$2\"}" | sed 's/.*"access_token":"\([^"]*\)".*/\1/'
}

# api METHOD PATH [BODY]: sends a request as the user of $TOKEN and prints the answer.
api() {
    curl -sg -X "$1" "$BASE_URL$2" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' ${3:+-d "$3"}; echo
}
