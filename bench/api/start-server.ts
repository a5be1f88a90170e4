import path from 'node:path';
import { freePort } from '../../scripts/ports.ts';
import { startPart, untilReady, answers, type Part, type Stage } from '../../scripts/parts/part.ts';

export type ServerPlan = {
  readonly name: string;
  /** What Node runs, and with which flags. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
};

export type Server = {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly part: Part;
};

const root = path.join(import.meta.dirname, '..', '..');

/** Starts a server of ours on a port of its own, and waits until it answers `GET /healthz`. */
export async function startServer(
  { name, args, env, folder }: ServerPlan,
  stage: Stage,
): Promise<Server> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const part = await startPart(
    {
      name,
      command: [process.execPath, ...args],
      cwd: root,
      env: { ...process.env, ...env, HOST: '127.0.0.1', PORT: String(port) },
      logFile: path.join(folder, `${name}-${port}.log`),
      rank: 0,
      graceMs: 5000,
    },
    stage,
  );
  await untilReady(part, () => answers(`${origin}/healthz`), 30_000, stage.signal);
  return { origin, part };
}
