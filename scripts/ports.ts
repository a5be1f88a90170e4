import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { PlainError } from './terminal.ts';

/** A port that something needs. */
export type PortWish = {
  /** For people: "the API". */
  readonly what: string;
  /** The setting by which a person chooses it. */
  readonly variable: string;
  /** Set by a person, so no other will do. */
  readonly fixed?: number;
  /** Taken again when it is free: it was used before, and people keep addresses. */
  readonly preferred?: number;
  /** The address it will listen on; the loopback when left out. */
  readonly host?: string;
};

const loopback = '127.0.0.1';

/**
 * Finds a port for each wish.
 *
 * @throws PlainError naming the port and the setting, when one that a person has set is taken
 */
export async function choosePorts<Name extends string>(
  wishes: Readonly<Record<Name, PortWish>>,
): Promise<Record<Name, number>> {
  const chosen = {} as Record<Name, number>;
  const taken = new Set<number>();
  for (const [name, wish] of Object.entries(wishes) as [Name, PortWish][]) {
    const port = await choosePort(wish, taken);
    taken.add(port);
    chosen[name] = port;
  }
  return chosen;
}

async function choosePort(wish: PortWish, taken: ReadonlySet<number>): Promise<number> {
  const { what, variable, fixed, preferred, host = loopback } = wish;
  if (fixed !== undefined) {
    if (taken.has(fixed) || !(await isFree(fixed, host))) {
      throw new PlainError(
        `Port ${fixed} is in use, and ${what} needs it. Stop what uses it, or set ${variable} to another port.`,
      );
    }

    return fixed;
  }

  if (preferred !== undefined && !taken.has(preferred) && (await isFree(preferred))) {
    return preferred;
  }

  let port = await freePort();
  while (taken.has(port)) {
    port = await freePort();
  }
  return port;
}

/** Whether a server could listen on that port now. */
async function isFree(port: number, host = loopback): Promise<boolean> {
  const server = await listenOn({ port, host });
  if (server === undefined) {
    return false;
  }

  server.close();
  await once(server, 'close');
  return true;
}

/** Below what kernels hand out by themselves: from 32768 on Linux, from 49152 elsewhere. */
const ownPorts = { from: 20_000, below: 32_768 };

/**
 * A port of the loopback that is free. It is none that a kernel gives to a process that asks for any port: one of those
 * may be given to another process before its user listens on it. Nor does this function give it to anyone else while
 * this process lives.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(ownPorts.from, ownPorts.below);
  return (await isClaimed(port)) && (await isFree(port)) ? port : freePort();
}

const claimed = new Set<number>();

/**
 * Whether the port is ours among all processes that look for one now. On Linux a socket says so whose name stands in no
 * folder, and which goes with its process, however that ends. Elsewhere two processes may still choose the same.
 */
async function isClaimed(port: number): Promise<boolean> {
  if (claimed.has(port)) {
    return false;
  }

  claimed.add(port);
  if (process.platform !== 'linux') {
    return true;
  }

  const server = await listenOn({ path: `\0punctual-port-${port}` });
  server?.unref();
  return server !== undefined;
}

/** @returns undefined when another listens there, or nobody may. */
async function listenOn(
  where: { readonly port: number; readonly host: string } | { readonly path: string },
): Promise<ReturnType<typeof createServer> | undefined> {
  const server = createServer();
  server.listen(where);
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}
