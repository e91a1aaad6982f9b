// Writes bytes to a socket, exactly as told, and reports what came back and how the connection ended. For what no
// well-behaved HTTP client can be made to send.
//
//   node exchange.mjs PORT TEXT      `\r`, `\n` in TEXT are escapes; prints JSON:
//                                    {"statuses": ["400"], "closed": true, "answer": "…"}
//
// `closed` tells whether the server ended the connection. A server that neither answers nor closes is waited for
// WIRE_SECONDS (default 60); the tests never depend on that number except by failing.
import { connect } from 'node:net';

const [port, text] = process.argv.slice(2);
let answer = '';
const socket = connect(Number(port), '127.0.0.1');
const report = (closed) => {
  const statuses = [...answer.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, status]) => status);
  console.log(JSON.stringify({ statuses, closed, answer }));
  socket.destroy();
  process.exit(0);
};
socket.setEncoding('latin1');
socket.on('connect', () => socket.write(text.replaceAll('\\r', '\r').replaceAll('\\n', '\n')));
socket.on('data', (data) => (answer += data));
socket.on('close', () => report(true));
socket.on('error', () => {}); // a reset closes as well
setTimeout(() => report(false), 1000 * Number(process.env.WIRE_SECONDS ?? 60));
