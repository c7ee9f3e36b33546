// node fcm.mjs ORIGIN COUNT firebase|http2: one message each to COUNT phones over five connections of 100 streams.
import http2 from "node:http2";
import { initializeApp } from "firebase-admin/app";
import { getMessaging } from "firebase-admin/messaging";
import { sent } from "./meter.mjs";

const [origin, count, kind] = process.argv.slice(2);
const CONNECTIONS = 5;
const AT_ONCE = 500;
const notification = { title: "Dinner", body: "Are you coming?" };
const data = { notification_id: "t".repeat(64) };
const token = (i) => "t".repeat(140) + i;

// The address of FCM is fixed in firebase-admin, so its connections are redirected to the sink. It sends the scheme as "https:",
// which nginx refuses and Google accepts.
const connect = http2.connect;
http2.connect = (url, ...rest) => {
  const session = connect(String(url).includes("fcm.googleapis.com") ? origin : url, ...rest);
  const open = session.request;
  session.request = (headers, ...more) => {
    if (headers[":scheme"] === "https:") headers[":scheme"] = "https";
    return open.call(session, headers, ...more);
  };
  return session;
};

// firebase-admin accepts 500 messages per call and opens a connection for each call, so five calls run concurrently.
async function firebase(begin, end) {
  const accessToken = async () => ({ access_token: "t", expires_in: 3599 });
  const messaging = getMessaging(initializeApp({ credential: { getAccessToken: accessToken }, projectId: "bench" }, `app${begin}`));
  let next = begin;
  const call = async () => {
    while (next < end) {
      const from = next;
      next = Math.min(next + AT_ONCE, end);
      const messages = Array.from({ length: next - from }, (_, i) => ({ token: token(from + i), notification, data }));
      const result = await messaging.sendEach(messages);
      if (result.failureCount) throw result.responses.find((each) => each.error).error;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, call));
}

// The least possible work per message.
const sessions = [];
function request(session, i) {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST", ":path": "/v1/projects/bench/messages:send", "content-type": "application/json", authorization: "Bearer t",
    });
    let status, text = "";
    stream.setEncoding("utf8");
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => (status === 200 && JSON.parse(text).name ? resolve() : reject(new Error(`${status} ${text}`))));
    stream.on("error", reject);
    stream.end(JSON.stringify({ message: { token: token(i), notification, data } }));
  });
}
async function plain(begin, end) {
  while (sessions.length < CONNECTIONS) sessions.push(http2.connect(origin));
  let next = begin;
  const slot = async (number) => {
    while (next < end) await request(sessions[number % CONNECTIONS], next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => slot(number)));
}

await sent(Number(count), kind === "http2" ? plain : firebase);
process.exit(0);
