// Starts a server for other devices, and a proxy that stands for another machine: its connections come from 127.0.0.2.
// Only 127.0.0.1 is the owner's own machine.
import { connect, createServer } from "node:net";
import { startClotho } from "./server.mjs";
import { model, extraServers } from "./setup.mjs";

const config = () => `[server]
lan = true
trusted_peers = ["127.0.0.1"]

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]
`;

/** @returns {Promise<import("./server.mjs").Clotho & {elsewhere: string}>} `elsewhere`: its address for other machines */
export async function startLanServer() {
  const server = await startClotho(config());
  const pipe = createServer((outer) => {
    const inner = connect({ port: Number(new URL(server.base).port), host: "127.0.0.1", localAddress: "127.0.0.2" });
    for (const [one, other] of [
      [outer, inner],
      [inner, outer],
    ]) {
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise((resolve) => pipe.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { close } = server;
  server.close = async () => {
    pipe.close();
    await close();
  };
  extraServers.push(server);
  return Object.assign(server, { elsewhere: `http://127.0.0.1:${pipe.address().port}` });
}
