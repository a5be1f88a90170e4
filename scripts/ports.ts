import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { PlainError } from './terminal.ts';

/** A port to choose. */
export type PortWish = {
  /** Name in messages: "the API". */
  readonly what: string;
  /** The setting with which the user chooses it. */
  readonly variable: string;
  /** Set by the user, so no other port is allowed. */
  readonly fixed?: number;
  /** The port of the last start, chosen again when it is free, since users keep addresses. */
  readonly preferred?: number;
  /** The address it will listen on; the loopback when left out. */
  readonly host?: string;
};

const loopback = '127.0.0.1';

/**
 * Finds a port for each wish.
 *
 * @throws PlainError that names the port and the setting, when a port that the user set is in use
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
        `Port ${fixed} is in use, and ${what} needs it. Stop the program that uses it, or set ${variable} to another port.`,
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

/** Below the ephemeral ports, which start at 32768 on Linux and 49152 elsewhere. */
const ownPorts = { from: 20_000, below: 32_768 };

/**
 * Returns a free port of the loopback. It is not an ephemeral port, because the kernel might assign that to another
 * process before its user listens on it. This function does not return the same port again while this process lives.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(ownPorts.from, ownPorts.below);
  return (await isClaimed(port)) && (await isFree(port)) ? port : freePort();
}

const claimed = new Set<number>();

/**
 * Claims a port among all processes that choose one now. On Linux the claim is an abstract socket, which has no file
 * and ends with its process. On other systems, two processes may still choose the same port.
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

/** @returns undefined when the address is in use or not permitted. */
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
