// The protocol of tests/support/client_child.py for node: serve(verbs) answers calls with the results of verbs[name](box, ...).
const readline = require("node:readline");

async function serve(verbs) {
  const box = JSON.parse(process.argv[2]);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const call = JSON.parse(line);
    let answer;
    try {
      const result = await verbs[call.verb](box, ...call.arguments);
      answer = { result: Buffer.isBuffer(result) ? { base64: result.toString("base64") } : (result ?? null) };
    } catch (error) {
      answer = { error: `${error.stack}` };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}

async function bytesOf(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

module.exports = { serve, bytesOf };
