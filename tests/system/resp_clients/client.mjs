// What a Node program does with ioredis and with node-redis: one line for each thing that held, or an
// exception.
import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { createClient } from "redis";

const [host, port, password] = process.argv.slice(2);
const burst = ["4", "1", "86400"];

{
  const client = new Redis({ host, port: Number(port), password, db: 1, connectionName: "ioredis" });
  assert.equal(await client.ping(), "PONG");
  assert.deepEqual(await client.call("CL.THROTTLE", "ioredis", ...burst), [0, 5, 4, -1, 86400]);
  const pipeline = client.pipeline();
  for (let i = 0; i < 5; ++i) pipeline.call("CL.THROTTLE", "ioredis", ...burst);
  const replies = await pipeline.exec();
  assert.deepEqual(replies.map(([error]) => error), [null, null, null, null, null]);
  assert.deepEqual(replies[4][1].slice(0, 3), [1, 5, 0]);
  await assert.rejects(client.call("NOSUCH"), /unknown command/);
  assert.match(await client.info(), /redis_mode:standalone/);
  await client.quit();
  console.log("ioredis");
}
for (const RESP of [2, 3]) {
  const client = createClient({ socket: { host, port: Number(port) }, password, RESP, name: "node" });
  client.on("error", (error) => { throw error; });
  await client.connect();
  assert.equal(await client.ping(), "PONG");
  const call = () => client.sendCommand(["CL.THROTTLE", `node-${RESP}`, ...burst]);
  assert.deepEqual(await call(), [0, 5, 4, -1, 86400]);
  const replies = await Promise.all([call(), call(), call(), call(), call()]);
  assert.deepEqual(replies[4].slice(0, 3), [1, 5, 0]);
  await assert.rejects(client.sendCommand(["NOSUCH"]), /unknown command/);
  await client.close();
  console.log(`node-redis ${RESP}`);
}
