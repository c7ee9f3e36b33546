// A stand-in for Google: node provider.mjs PORT REDIRECT_URI. Any name signs in, and the claims are made from that name.
import Provider from "oidc-provider";

const [port, redirect] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "groundwork",
      client_secret: "stand-in secret",
      redirect_uris: [redirect],
      token_endpoint_auth_method: "client_secret_post",
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: true } },
  async findAccount(_, id) {
    return {
      accountId: id,
      claims: async () => ({
        sub: id,
        email: `${id}@example.org`,
        email_verified: !id.startsWith("unverified"),
        name: `Name of ${id}`,
      }),
    };
  },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
