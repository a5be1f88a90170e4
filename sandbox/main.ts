import { startSandbox } from './server.ts';

// The sandbox: simulated networks for a first run, on one port, with a page that shows the posts.
//
//   node sandbox/main.ts
//
// HOST                    address to listen on (127.0.0.1)
// PORT                    port to listen on (0: a free one)
// PUNCTUAL_SANDBOX_DATA   a JSON file in which posts and grants survive a restart, with their files in a folder
//                         next to it (none: they are lost when the sandbox stops)
//
// Mastodon: <url>/mastodon, access token `demo`.
// Bluesky: <url>/bluesky, handle `demo.sandbox.test`, app password `demo`.
// LinkedIn: <url>/linkedin, access token `demo`; `demo-self-serve` may post, but not read.
// X: <url>/x, YouTube: <url>/youtube, access token `demo`.
// OAuth: client id `punctual`, client secret `sandbox`; Mastodon's apps register themselves.
//
// A text with `#sandbox-<directive>` or a control call simulates a failure: see `directives.ts`, `control.ts` and the page.
// The figures of posts grow over time, or are set: see `control-figures.ts`.

const { HOST: host = '127.0.0.1', PORT: port = '0', PUNCTUAL_SANDBOX_DATA: dataFile } = process.env;

if (!/^\d{1,5}$/v.test(port) || Number(port) > 65_535) {
  stop(`PORT must be a number from 0 to 65535, not "${port}".`);
}

try {
  const sandbox = await startSandbox({ host, port: Number(port), dataFile: dataFile || undefined });
  process.stdout.write(`Sandbox ready at ${sandbox.url}\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await sandbox.close();
      process.exit(0);
    });
  }
} catch (error) {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const reason = error instanceof Error ? error.message : String(error);
  stop(isTaken ? `Port ${port} is in use. Set PORT to another port.` : reason);
}

function stop(reason: string): never {
  process.stderr.write(`The sandbox cannot start: ${reason}\n`);
  process.exit(1);
}
