/** What wrk does with `wrk.lua`, on systems without wrk: it costs more processor time, so that the ratios are nearer to 1. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";

const [port, connections, milliseconds, file, unique, perSecond] = process.argv.slice(2);
const texts = readFileSync(file, "latin1").split("\0");
const latencies = [];
const [startedAt, interval] = [performance.now(), Number(perSecond) > 0 ? 1000 / Number(perSecond) : 0];
let [sent, failures] = [0, 0];

function send(socket) {
  const due = interval === 0 ? 0 : startedAt + sent * interval - performance.now();
  const text = texts[sent % texts.length].replace("{unique}", unique + String(sent++));
  setTimeout(() => {
    socket.sentAt = performance.now();
    socket.write(text, "latin1");
  }, due);
}

/** Bytes of the response that `received` begins with, known once its head is complete; every response has a length. */
function lengthOf(received) {
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return Infinity;
  return end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1] ?? 0);
}

for (let i = 0; i < Number(connections); i++) {
  const socket = connect(Number(port), "127.0.0.1", () => send(socket));
  let received = "";
  let length = Infinity;
  socket.setEncoding("latin1").on("data", (chunk) => {
    received += chunk;
    if (length === Infinity) length = lengthOf(received);
    if (received.length < length) return;
    latencies.push(performance.now() - socket.sentAt);
    if (!/^HTTP\/1\.1 [23]/.test(received)) failures++;
    [received, length] = ["", Infinity];
    send(socket);
  });
  socket.on("close", () => failures++).on("error", () => undefined);
}

setTimeout(() => {
  const sorted = latencies.sort((a, b) => a - b);
  const quantile = (part) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  const measured = { requests: sorted.length, milliseconds: performance.now() - startedAt };
  console.log(JSON.stringify({ ...measured, p50: quantile(0.5), p99: quantile(0.99), failures }));
  process.exit();
}, Number(milliseconds));
